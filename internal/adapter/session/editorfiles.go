package session

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/internal/filecalls"
	"droid-acp/internal/adapter/internal/updates"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/hooks"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/workspace/editorfs"
)

// Where the client has ACP's fs methods, droid reads and edits files through the
// editor. droid does not know: hooks of ours hold it before and after such a call, and
// in the meantime internal/workspace/editorfs sees to it that the disk has what the editor has. The agent
// receives the hooks; this file answers them, and filecalls.go has what internal/adapter/internal/filecalls leads.

// FilesWay is how droid's reads and edits reach the files.
type FilesWay string

// The ways. The zero value is FilesEditor for clients whose fs methods are known to be safe, and
// FilesDisk for all others (protocol.ClientProfile).
const (
	FilesEditor FilesWay = "editor" // through the client's fs methods, where it has them
	FilesDisk   FilesWay = "disk"   // droid alone reads and writes them
)

// notifyReplayed notifies the user of edits that could not be completed.
func (s *Session) notifyReplayed(ctx context.Context) {
	left := s.deps.LeftEdits
	if left == nil {
		return
	}
	var texts []string
	s.unlocked(ctx, func(ctx context.Context) {
		texts, _ = files.CallBounded(ctx, s.deps.Calls, "editorfs.Untold", "the journal of edits", func(string) ([]string, error) { return left.ReplayWarnings(), nil })
	})
	for _, text := range texts {
		s.update(render.Notice(text))
	}
}

// overlay returns where the calls of a session on this process go, nil where its files stay on the
// disk.
func (d *Deps) overlay(s *Session, client *droid.Client) *fileOverlay {
	if d.EditorFiles == nil || !client.HasHooks() {
		return nil
	}
	return &fileOverlay{d.EditorFiles.Overlay(sessionEditor{s.out}, editorfs.OverlayOptions{KeepTimes: d.Client.ChecksModTimes}), s}
}

// announceTime bounds how long a hook waits for droid's event that announces its call.
// The event is there before, but a slow editor may keep it from being read.
const announceTime = 3 * time.Second

// AnswerHook answers a hook of droid's, when droid has announced the call that it is for. The answer is empty if the session has ended, or
// droid announces no such call in time.
func (s *Session) AnswerHook(ctx context.Context, h *filecalls.Hook) (answer hooks.Answer) {
	var failed *jsonrpc.Error
	if s.Enter(nil) != nil {
		return answer
	}
	defer s.Exit(&failed)
	return s.runHook(ctx, h)
}

// runHook runs a hook of droid once droid has announced its call. droid continues the call when it has the answer, so anything to be shown
// is shown before.
func (s *Session) runHook(ctx context.Context, h *filecalls.Hook) (answer hooks.Answer) {
	ctx, cancel := context.WithTimeout(ctx, announceTime)
	defer cancel()
	s.fileCalls.Hooked(h, s.cwd)
	if s.mu.WaitFor(ctx, "a hook", untilAnnounced, func() bool { return !s.fileCalls.Waits(h) }) != nil {
		s.fileCalls.Forget(h)
	}
	if h.Job != nil {
		answer = s.doJobs(s.Context, *h.Job)
		s.notifyReplayed(s.Context)
	}
	return answer
}

// sessionEditor is the client's fs methods for one session (ACP, "File System").
type sessionEditor struct{ *updates.Sender }

// ReadTextFile implements editorfs.ACPClient.
func (e sessionEditor) ReadTextFile(ctx context.Context, path string) (string, error) {
	r := updates.SendAsync[acp.ReadTextFileResponse](e.Sender, acp.ClientMethodFsReadTextFile, acp.ReadTextFileRequest{SessionId: acp.SessionId(e.Session()), Path: path})
	select {
	case err := <-r.Answered:
		return r.Result.Content, err
	case <-ctx.Done():
		r.Withdraw()
		return "", context.Cause(ctx)
	}
}

// WriteTextFile implements editorfs.ACPClient.
func (e sessionEditor) WriteTextFile(path, text string) <-chan error {
	return updates.SendAsync[json.RawMessage](e.Sender, acp.ClientMethodFsWriteTextFile, acp.WriteTextFileRequest{SessionId: acp.SessionId(e.Session()), Path: path, Content: text}).Answered
}

// UsesEditor reports whether files are to go through the client's fs methods.
func (w FilesWay) UsesEditor(client protocol.ClientCapabilities) bool {
	switch w {
	case FilesDisk:
		return false
	case FilesEditor:
		return client.Files
	}
	return client.Files && client.SafeFiles
}

// fileCalls are a session's calls that read or change files.
type fileCalls struct {
	filecalls.Calls
	overlay *fileOverlay // does their jobs; nil where files stay on the disk
}

// fileOverlay is how a session's calls on one process reach the editor's files.
type fileOverlay struct {
	*editorfs.Overlay
	s *Session
}

// use begins with a process: with overlay nil, files stay on the disk.
func (f *fileCalls) use(overlay *fileOverlay) {
	f.End()
	if f.overlay = overlay; overlay != nil {
		f.Begin(overlay)
	}
}

// Drop and Close let go of files without the lock, which may block.
func (d *fileOverlay) Drop(id string) { d.free(func() { d.Overlay.Drop(id) }) }

func (d *fileOverlay) Close() { d.free(d.Overlay.Close) }

func (d *fileOverlay) free(f func()) {
	d.s.async(func(context.Context) { d.s.deps.AtEnd("Overlay", files.ReleaseTime, f) })
}

// jobOutcome is the result of a job.
type jobOutcome struct {
	answer hooks.Answer // what a hook that waits for it is to say
	tells  []protocol.Update
	again  bool         // the call is to be shown again, with files
	files  render.Files // its files as they are now
}

// doJobs does the jobs of one process without the lock, one after the other, and reports each result. What the last one
// answers is returned.
func (s *Session) doJobs(ctx context.Context, jobs ...filecalls.Job) (answer hooks.Answer) {
	overlay := s.fileCalls.overlay // another process may come in the meantime
	for _, job := range jobs {
		answer = s.doJob(ctx, overlay, job)
	}
	return answer
}

// doJob does one job. A panic ends only this job: droid uses the file on disk instead.
func (s *Session) doJob(ctx context.Context, overlay *fileOverlay, job filecalls.Job) hooks.Answer {
	defer s.fileCalls.Done(job)
	did := jobOutcome{}
	s.unlocked(ctx, func(ctx context.Context) {
		defer func() {
			if p := recover(); p != nil {
				s.logPanic("panic in a job with a file", p)
			}
		}()
		did = overlay.do(ctx, job)
	})
	s.update(did.tells...)
	if did.again && s.fileCalls.Has(job.Call.ID) {
		s.translate(job.Call, did.files)
	}
	return did.answer
}

// do does a job. It blocks. It ends early when ctx does, with every file whole.
func (d *fileOverlay) do(ctx context.Context, job filecalls.Job) (did jobOutcome) {
	id := job.Call.ID
	switch job.Work {
	case filecalls.Read:
		path, err := d.Read(ctx, id, job.Files[0])
		if err != nil {
			d.s.log.Warn("droid reads a file without its unsaved changes", zap.Error(err))
		}
		if path != "" {
			did.answer.UpdatedInput = job.At(path)
		}
	case filecalls.Prepare:
		did = d.prepare(ctx, job)
	case filecalls.Pause:
		d.PauseEdit(id, job.Call.Name != "Create")
	case filecalls.Settle:
		d.s.deps.EditorFiles.AwaitDelivery(ctx, job.Files)
	case filecalls.Deliver:
		if note := d.EndEdit(ctx, id); note != "" {
			did.answer.Context = stream.Reminder(note) // the user does not see it, also not in a conversation that is loaded
		}
	case filecalls.Leave:
		d.Overlay.Drop(id)
	}
	for _, text := range d.PendingWarnings() { // also of an answer that has come late
		did.tells = append(did.tells, render.Notice(text))
	}
	return did
}

// prepare prepares an edit.
func (d *fileOverlay) prepare(ctx context.Context, job filecalls.Job) (did jobOutcome) {
	before := render.Files(nil)
	if job.Shown {
		before = d.s.deps.Texts.Read(ctx, job.Files)
	}
	for _, path := range d.BeginEdit(ctx, job.Call.ID, job.Files) {
		did.tells = append(did.tells, render.SavedNotice(path))
	}
	if job.Shown {
		did.files = d.s.deps.Texts.Read(ctx, job.Files)
		did.again = !reflect.DeepEqual(before, did.files)
	}
	return did
}

// lookForUnseen notifies the user, once a file and turn, that droid does not see what they have not saved: where files stay on
// the disk and the client can be asked.
func (s *Session) lookForUnseen(ev quirks.Event) {
	if !s.tellsUnseen() {
		return
	}
	for _, path := range s.fileCalls.Looks(ev, s.cwd) {
		s.mu.Go(func() {
			unseen := false
			s.unlocked(s.Context, func(ctx context.Context) { unseen = s.unseen(ctx, path) })
			if unseen {
				s.update(render.UnsavedNotice(path))
			}
		})
	}
}

// tellsUnseen reports whether files stay on disk and the client can be asked which texts are unsaved.
func (s *Session) tellsUnseen() bool {
	client := s.deps.Client
	return client.Files && client.ReadsUnsaved && s.deps.Config.Files == ""
}

// unseen reports whether the editor has text of a file that is not saved. It blocks.
func (s *Session) unseen(ctx context.Context, path string) bool {
	unseen, _ := files.CallBounded(ctx, s.deps.Calls, "Unseen", path, func(path string) (bool, error) {
		return editorfs.HasUnsaved(ctx, sessionEditor{s.out}, path, s.deps.Config.Modified), nil
	})
	return unseen
}
