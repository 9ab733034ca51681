package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/paths"
)

// droid overwrites and deletes the files of a rewind whatever has become of them. Their texts are therefore compared before the user is
// asked, and again after the yes, so that nothing is lost that the question did not name.

// rewoundFile is a file that going back changes, as it was when the user was asked.
type rewoundFile struct {
	render.RewoundFile
	entry json.RawMessage // of droid's RewindInfo
	disk  render.File
	typed *string // the unsaved text in the editor: nil if there is none, "" if it is not known
}

// rewinding goes back in a session. Its methods block.
type rewinding struct {
	s       *Session
	client  *droid.Client
	session string // droid's id of it
	cwd     string
	overlay *fileOverlay // nil if files stay on the disk
}

// check returns the files that going back changes. at is the message that info is about.
func (w *rewinding) check(ctx context.Context, info droid.RewindInfo, at string, edits []fileEdit) (found []rewoundFile) {
	if len(info.Available)+len(info.Created) == 0 {
		return nil
	}
	taken, _ := files.CallBounded(ctx, w.s.deps.Calls, "Store.Snapshots", "session "+w.session, func(string) ([]store.Snapshot, error) {
		return w.s.deps.Config.Store.Snapshots(w.session, at)
	}) // if that fails, every file is FileUnknown
	for deleted, list := range [][]json.RawMessage{info.Available, info.Created} {
		for _, entry := range list {
			var file struct {
				Path string `json:"filePath"`
			}
			if json.Unmarshal(entry, &file) != nil || file.Path == "" {
				continue // the question cannot name it, so it is not restored
			}
			f := rewoundFile{entry: entry}
			f.Path, f.Deleted = paths.Absolute(w.cwd, file.Path), deleted == 1 // of files below the directory droid has the rest of it
			f.disk = w.onDisk(ctx, f.Path)
			f.Status = sinceEdits(f.Path, w.cwd, taken, edits, f.disk)
			typed, known := w.unsaved(ctx, f.Path)
			if f.typed, f.Unsaved = typed, typed != nil; !known {
				f.Status = max(f.Status, render.FileUnknown)
			}
			found = append(found, f)
		}
	}
	return found
}

func (w *rewinding) onDisk(ctx context.Context, path string) render.File {
	return w.s.deps.Texts.Read(ctx, []string{path})[path]
}

// unsaved returns the unsaved text of a file: nil if there is none, "" if the text is not known. known is false if the editor cannot
// answer.
func (w *rewinding) unsaved(ctx context.Context, path string) (text *string, known bool) {
	switch {
	case w.overlay != nil:
		return w.overlay.Unsaved(ctx, path)
	case w.s.tellsUnseen() && w.s.unseen(ctx, path):
		return new(string), true
	}
	return nil, true
}

// still reports whether the disk has the text that it had when the user was asked, or the one that was unsaved then.
func (f rewoundFile) still(disk render.File) bool {
	return f.disk == disk || f.disk.SameText(disk) || f.typed != nil && *f.typed != "" && disk.SameText(render.File{Text: f.typed, Known: true})
}

// compare returns the files that are as they were when the user was asked, and the paths of the others. It asks the editor as well if editor
// is set.
func (w *rewinding) compare(ctx context.Context, asked []rewoundFile, editor bool) (same []rewoundFile, others []string) {
	for _, f := range asked {
		still := f.still(w.onDisk(ctx, f.Path))
		if editor && still {
			typed, _ := w.unsaved(ctx, f.Path)
			still = typed == nil || f.typed != nil && *typed == *f.typed
		}
		if still {
			same = append(same, f)
		} else {
			others = append(others, f.Path)
		}
	}
	return same, others
}

// rewound is the outcome of a rewind.
type rewound struct {
	droid.RewindResult
	evicted int      // files whose old text droid no longer has
	unasked []string // files that were left alone because the user could not be asked
	left    []string // files that were left alone because they changed while the user was asked
	differs []string // files that do not have the restored text
	saved   []string // files whose unsaved text was saved first
}

// goBack rewinds the session to before a prompt, with those of the files that are as they were when the user was asked. Restored files
// reach the editor as droid's edits do.
func (w *rewinding) goBack(ctx context.Context, r *rewound, title string, p RewindPoint, asked []rewoundFile) (err error) {
	const call = "/rewind" // differs from the ids of droid's calls
	same, left := w.compare(ctx, asked, true)
	if w.overlay != nil {
		var restored []string
		for _, f := range same {
			if !f.Deleted {
				restored = append(restored, f.Path)
			}
		}
		r.saved = w.overlay.BeginEdit(ctx, call, restored)
		defer w.overlay.Overlay.Drop(call)
		var more []string
		same, more = w.compare(ctx, same, false)
		left = append(left, more...)
	}
	var info droid.RewindInfo
	for _, f := range same {
		if f.Deleted {
			info.Created = append(info.Created, f.entry)
		} else {
			info.Available = append(info.Available, f.entry)
		}
	}
	r.left = left
	r.RewindResult, err = w.client.Rewind(ctx, w.session, p.MessageID, cmp.Or(title, render.FirstLine(p.Text)), info)
	if err != nil || w.overlay == nil {
		return err
	}
	restored := make(render.Files)
	for _, f := range same {
		restored[f.Path] = w.onDisk(ctx, f.Path)
	}
	w.overlay.EndEdit(ctx, call)
	for _, f := range same {
		if was := restored[f.Path]; was.Known && !was.SameText(w.onDisk(ctx, f.Path)) {
			r.differs = append(r.differs, f.Path)
		}
	}
	return nil
}

// text returns the answer to the user.
func (r rewound) text(v *render.View) string {
	text := fmt.Sprintf("Files restored: %d, deleted: %d.", r.Restored, r.Deleted)
	if failed := r.FailedRestores + r.FailedDeletes; failed > 0 {
		text += fmt.Sprintf(" Not restored or deleted: %d.", failed)
	}
	if r.evicted > 0 {
		text += fmt.Sprintf(" Old contents that droid no longer has: %d.", r.evicted)
	}
	for _, some := range []struct {
		what  string
		files []string
	}{
		{"Left as they are, since they may have changes of yours and your client cannot ask you", r.unasked},
		{"Left as they are, since they changed while you were asked", r.left},
		{"Changed by your editor or another program when they were restored", r.differs},
	} {
		if len(some.files) > 0 {
			text += " " + some.what + ": " + v.FileList(some.files) + "."
		}
	}
	return text
}

// fileEdit is a tool call that edits files.
type fileEdit struct {
	id, name string
	input    json.RawMessage
	files    []string // by absolute path
}

// editsFrom returns the successful edits of a history from a message on, in the order of their results.
func editsFrom(messages []stream.Message, from, cwd string) (edits []fileEdit) {
	called := make(map[string]fileEdit)
	first := slices.IndexFunc(messages, func(m stream.Message) bool { return m.ID == from })
	for _, m := range messages[max(first, 0):] {
		for _, b := range m.Content {
			if edited := render.EditedFiles(b.Name, b.Input, cwd); b.Type == "tool_use" && len(edited) > 0 {
				called[b.ID] = fileEdit{b.ID, b.Name, b.Input, edited}
			}
			id := quirks.ResultCallID(b)
			if e, is := called[id]; is && !quirks.IsFailedResult(b) {
				edits = append(edits, e)
			}
			delete(called, id)
		}
	}
	return edits
}

// editedFiles returns the files that droid has edited from a message on, each once.
func editedFiles(messages []stream.Message, from, cwd string) []string {
	edited := []string{}
	for _, e := range editsFrom(messages, from, cwd) {
		for _, path := range e.files {
			if !slices.Contains(edited, path) {
				edited = append(edited, path)
			}
		}
	}
	return edited
}

// sinceEdits reports what became of a file since the first of these edits. It compares texts alone: each edit must have found what the edit
// before it left, and the disk must have what the last one left. taken are the files as the edits found them.
func sinceEdits(path, cwd string, taken []store.Snapshot, edits []fileEdit, disk render.File) render.EditStatus {
	if disk.Known && disk.Text == nil {
		return render.FileGone
	}
	file := func(t store.Snapshot) render.File { return render.File{Text: t.Text, Known: t.Known} }
	before := make(map[string]render.Files) // by call
	for _, t := range taken {
		if before[t.Call] == nil {
			before[t.Call] = make(render.Files)
		}
		before[t.Call][t.Path] = file(t)
	}
	taken = slices.DeleteFunc(slices.Clone(taken), func(t store.Snapshot) bool { return t.Path != path })
	edits = slices.DeleteFunc(slices.Clone(edits), func(e fileEdit) bool { return !slices.Contains(e.files, path) })
	if !slices.EqualFunc(taken, edits, func(t store.Snapshot, e fileEdit) bool { return t.Call == e.id }) || len(taken) == 0 {
		return render.FileUnknown
	}
	since := render.OnlyEdited
	for i, e := range edits {
		found := before[e.id]
		found[path] = file(taken[i]) // models may use an id again
		left, next := render.TextAfterEdit(e.name, e.input, cwd, path, found), disk
		if i+1 < len(taken) {
			next = file(taken[i+1])
		}
		switch {
		case !left.Known || !next.Known:
			since = render.FileUnknown
		case !left.SameText(next):
			return render.FileChanged
		}
	}
	return since
}
