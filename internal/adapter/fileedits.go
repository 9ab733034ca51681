package adapter

import (
	"context"
	"reflect"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/editorfs"
	"droid-acp/internal/quirks"
)

// fileEdit is a call that changes files, for use beside the session's owner.
type fileEdit struct {
	told    quirks.ToolInput // as droid announced it
	files   []string
	prepare func(ctx context.Context) // has the disk hold what the editor has of them; it blocks
}

// edit is a call that changes files. Where the call ends while it is prepared, its files
// are let go afterwards.
func (f *fileCalls) edit(c *fileCall) fileEdit {
	desk, post, free, id, files := f.desk, f.post, f.free, c.id, c.files
	return fileEdit{quirks.ToolInput{ID: id, Name: c.name, Input: c.input}, files, func(ctx context.Context) {
		desk.Before(ctx, id, files)
		post(func() {
			if f.call(id) == nil {
				free(func() { desk.Drop(id) })
			}
		})
	}}
}

// asked are those of the calls that the user is asked for which change files.
func (f *fileCalls) asked(tools []stream.PermissionToolUse) (calls []*fileCall) {
	if f.desk == nil {
		return nil
	}
	for _, tool := range tools {
		if c := f.call(tool.ToolUse.ID); c != nil && c.edits() {
			calls = append(calls, c)
		}
	}
	return calls
}

// beforeShown is what is to be done with the editor's files before those are read for an
// event that is shown with them; nil for nothing. It blocks.
func (f *fileCalls) beforeShown(ev quirks.Event, files *editorfs.Files, named []string) func(ctx context.Context) {
	if f.desk == nil {
		return nil
	}
	switch ev := ev.(type) {
	case quirks.PermissionAsked:
		return f.beforeAsked(ev)
	case quirks.ToolEnded:
		// A droid that tells the result before the hook (0.99) has its edit on the way to
		// the editor now.
		return func(ctx context.Context) { files.Settled(ctx, named) }
	}
	return nil
}

// beforeAsked has the disk hold what the editor has before the user is asked for an edit,
// so that the diff is the right one. A droid that asks before it runs hooks (0.99) needs
// that; others have run them. The user may take long, and others may edit meanwhile.
func (f *fileCalls) beforeAsked(ev quirks.PermissionAsked) func(ctx context.Context) {
	calls, desk := f.asked(ev.Tools), f.desk
	if len(calls) == 0 {
		return nil
	}
	var edits []fileEdit
	for _, c := range calls {
		e := f.edit(c)
		if c.before {
			e.prepare = func(context.Context) {}
		}
		edits = append(edits, e)
	}
	return func(ctx context.Context) {
		for _, e := range edits {
			e.prepare(ctx)
			desk.Pause(e.told.ID, e.told.Name != "Create")
		}
	}
}

// beforeAnswer are the edits to prepare again before droid hears that the user allows
// these calls: he may have typed into the files meanwhile. Those whose hook is still to
// come (0.99) are none of them.
func (f *fileCalls) beforeAnswer(tools []stream.PermissionToolUse) (edits []fileEdit) {
	for _, c := range f.asked(tools) {
		if c.before {
			edits = append(edits, f.edit(c))
		}
	}
	return edits
}

// prepared prepares an edit. If that changes a file, what the user had not saved would seem
// to be droid's in the diff that was told with the call: then tell, for the session's owner,
// tells the call again. Else tell is nil. It blocks, and runs beside the owner.
func (s *Session) prepared(ctx context.Context, e fileEdit) (tell func()) {
	before := s.agent.files.Read(ctx, e.files)
	e.prepare(ctx)
	after := s.agent.files.Read(ctx, e.files)
	if reflect.DeepEqual(before, after) {
		return nil
	}
	return func() {
		if s.fileCalls.call(e.told.ID) != nil {
			s.translate(e.told, after)
		}
	}
}
