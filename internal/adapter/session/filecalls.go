package session

import (
	"context"
	"reflect"

	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/internal/filecalls"
	"droid-acp/internal/droid/hooks"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/workspace/editorfs"
)

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
