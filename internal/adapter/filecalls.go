package adapter

import (
	"context"
	"reflect"

	"go.uber.org/zap"

	"droid-acp/internal/bounded"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/editorfs"
	"droid-acp/internal/filecalls"
	"droid-acp/internal/hooks"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
)

// fileCalls are a session's calls that read or change files.
type fileCalls struct {
	filecalls.Calls
	desk *fileDesk // does their jobs; nil where files stay on the disk
}

// fileDesk is how a session's calls on one process reach the editor's files.
type fileDesk struct {
	*editorfs.Desk
	s *Session
}

// use begins with a process: with desk nil, files stay on the disk.
func (f *fileCalls) use(desk *fileDesk) {
	f.End()
	if f.desk = desk; desk != nil {
		f.Begin(desk)
	}
}

// Drop and Close let go of files beside the owner, which may block.
func (d *fileDesk) Drop(id string) { d.free(func() { d.Desk.Drop(id) }) }

func (d *fileDesk) Close() { d.free(d.Desk.Close) }

func (d *fileDesk) free(f func()) {
	d.s.Do(func(context.Context) { d.s.agent.calls.AtEnd("Desk", bounded.ReleaseTime, f) })
}

// do does a job, and tells what a hook that waits for it is to say. It blocks. It ends early
// when ctx does, with every file whole.
func (d *fileDesk) do(ctx context.Context, job filecalls.Job) (answer hooks.Answer) {
	defer d.s.Post(func() { d.s.fileCalls.Done(job) })
	id := job.Call.ID
	switch job.Work {
	case filecalls.Read:
		path, err := d.Read(ctx, id, job.Files[0])
		if err != nil {
			d.s.log.Warn("droid reads a file without its unsaved changes", zap.Error(err))
		}
		if path != "" {
			answer.UpdatedInput = job.At(path)
		}
	case filecalls.Prepare:
		d.prepare(ctx, job)
	case filecalls.Pause:
		d.Pause(id, job.Call.Name != "Create")
	case filecalls.Settle:
		d.s.agent.editorFiles.files.AwaitDelivery(ctx, job.Files)
	case filecalls.Deliver:
		if note := d.After(ctx, id); note != "" {
			answer.Context = stream.Reminder(note) // the user does not see it, also not in a conversation that is loaded
		}
	case filecalls.Leave:
		d.Desk.Drop(id)
	}
	return answer
}

// prepare prepares an edit, and tells it again if that is wanted.
func (d *fileDesk) prepare(ctx context.Context, job filecalls.Job) {
	s, before := d.s, show.Files(nil)
	if job.Shown {
		before = s.agent.files.Read(ctx, job.Files)
	}
	d.Before(ctx, job.Call.ID, job.Files)
	if !job.Shown {
		return
	}
	if after := s.agent.files.Read(ctx, job.Files); !reflect.DeepEqual(before, after) {
		s.Post(func() {
			if s.fileCalls.Has(job.Call.ID) {
				s.translate(job.Call, after)
			}
		})
	}
}

// apply translates honest events, in order. One that is shown with files waits until they are
// read, beside the owner, which still hears the editor meanwhile; with it wait all that follow.
func (s *Session) apply(events []quirks.Event) {
	for i, ev := range events {
		if s.fileCalls.Behind(events[i:]) {
			return
		}
		paths := s.show.Needs(ev)
		if s.ended || len(paths) == 0 {
			s.translate(ev, nil)
			continue
		}
		desk, jobs, held := s.fileCalls.desk, s.fileCalls.BeforeShown(ev, paths), s.fileCalls.Hold(ev)
		files := s.agent.files
		s.Do(func(ctx context.Context) {
			for _, job := range jobs {
				desk.do(ctx, job)
			}
			texts := files.Read(ctx, paths)
			s.Post(func() { s.filesRead(held, texts) })
		}, s.readNoMore)
	}
}

// filesRead translates what waited for files, and what came after it.
func (s *Session) filesRead(held *filecalls.Held, texts show.Files) {
	if events := s.fileCalls.Release(held); len(events) > 0 {
		s.translate(events[0], texts)
		s.apply(events[1:])
	}
}

// readNoMore translates what waits for files without them, because the session or its
// process ends, or the reading failed.
func (s *Session) readNoMore() {
	for held := s.fileCalls.Holding(); held != nil; held = s.fileCalls.Holding() {
		s.filesRead(held, nil)
	}
}
