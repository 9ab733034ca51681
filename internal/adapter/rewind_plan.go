package adapter

import (
	"context"
	"slices"

	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/render"
)

// rewindPlan is what going back to before a prompt will do. /rewind and _droid/rewind make it, and carry it out.
type rewindPlan struct {
	rewinding
	to    rewindPoint
	next  store.Successor // the session that the conversation goes on in
	files []rewoundFile   // that change
	rewound
}

// unlockedRun runs a function without the session's lock, within a bound.
type unlockedRun func(f func(ctx context.Context) error) error

// planRewind looks what going back to before a prompt of the whole conversation, which is info, will do: to files only where that is wanted.
func (s *Session) planRewind(run unlockedRun, info *stream.SessionInfo, to rewindPoint, files bool) (*rewindPlan, error) {
	p := &rewindPlan{to: to, rewinding: rewinding{s: s, client: s.proc.Client(), session: s.droidID, cwd: s.cwd, overlay: s.fileCalls.overlay}}
	err := run(func(ctx context.Context) error {
		p.next = s.agent.threads.Successor(ctx, p.session)
		found, at, err := rewindFiles(ctx, p.client, p.session, to, info.Messages, p.cwd, files)
		p.evicted = len(found.Evicted)
		p.files = p.look(ctx, found, at, editsFrom(info.Messages, to.MessageID, p.cwd))
		return err
	})
	return p, err
}

// staysAlive reports whether the process goes on with the conversation as it will be.
func (p *rewindPlan) staysAlive() bool { return p.client.Version().Has(stream.GoesOverAfterRewind) }

// leaveUnsafe takes the files out of the plan that may have changes of the user's, who cannot be asked.
func (p *rewindPlan) leaveUnsafe() {
	p.files = slices.DeleteFunc(p.files, func(f rewoundFile) bool {
		if f.MayLoseChanges() {
			p.unasked = append(p.unasked, f.Path)
		}
		return f.MayLoseChanges()
	})
}

// named are the files as questions and results name them.
func (p *rewindPlan) named() []render.RewoundFile {
	named := make([]render.RewoundFile, len(p.files))
	for i, f := range p.files {
		named[i] = f.RewoundFile
	}
	return named
}

// carryOut has droid go back. The thread is then to go on in the session that droid has made.
func (p *rewindPlan) carryOut(run unlockedRun) error {
	return run(func(ctx context.Context) error {
		err := p.goBack(ctx, &p.rewound, p.next.Title, p.to, p.files)
		if err == nil {
			p.next.Made(p.NewSessionID, store.LinkRewind)
		}
		return err
	})
}
