package session

import (
	"context"
	"errors"
	"strings"
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/render"
)

// compactTime bounds how long droid may take to compact a conversation: one or
// several calls of the model with all of it.
const compactTime = 10 * time.Minute

var errCompactTime = errors.New("droid did not answer within 10 minutes")

// ErrNothingToCompact is the error of a conversation that is short.
var ErrNothingToCompact = errors.New("there is nothing to compact")

// Compacted is the outcome of a compaction.
type Compacted struct {
	Removed int    // messages
	Hint    string // what the user must know of the two sessions
}

// AgreeToCompact asks the user whether the conversation is to be compacted, where the client can show the question.
func (s *Session) AgreeToCompact(ctx context.Context) error {
	return s.Agree(ctx, s.show.CompactQuestion(s.proc.Background()), "Not compacted", "Agreed: compact the conversation")
}

// Compact replaces the conversation by a summary, with which the thread continues.
func (s *Session) Compact(ctx context.Context, instructions string) (done Compacted, err error) {
	named := s.name.Given()
	client, err := s.readyDroid(ctx)
	if err != nil {
		return done, err
	}
	s.update(s.show.BeginCompaction(render.CompactionRequested)...)
	forget := s.whenEnded(ctx, func() {
		end := render.CompactionFailed // the prompt says why
		if wasCancelled(ctx) {
			end = render.CompactionCancelled
		}
		s.update(s.show.EndCompaction(end)...)
		s.stopCompaction(client)
	})
	var next store.Successor
	var summary string
	from, wanted := s.droidID, s.show.WantsSummary()
	err = s.callWithin(ctx, compactTime, errCompactTime, func(ctx context.Context) error {
		next = s.deps.Threads.Successor(ctx, from)
		id, n, err := client.Compact(ctx, instructions)
		if err == nil {
			next.Made(id, store.LinkCompact)
			if wanted {
				summary = s.deps.Threads.Summary(ctx, id)
			}
		}
		done.Removed = n
		return err
	})
	forget()
	if err != nil {
		err = s.compactFailed(ctx, err)
		if errors.Is(err, errCompactTime) {
			s.stopCompaction(client)
		}
		return done, err
	}
	// The process that made the summary keeps sending the model the whole old conversation, even after loading the new session (0.99 to
	// 0.225).
	end := func() {
		s.update(s.show.EndCompactionWith(render.Compacted, render.CompactionFacts{Summary: summary})...)
	}
	forget = s.whenEnded(ctx, end)
	err = s.switchSession(ctx, next, true)
	forget()
	if err == nil {
		if ctx.Err() == nil { // else the end of the command has shown it
			end()
		}
		done.Hint = s.arrived(ctx, next, named)
	}
	return done, err
}

// compactFailed shows that a compaction failed, and returns why.
func (s *Session) compactFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err // another compaction may run
	}
	switch {
	case strings.Contains(err.Error(), "Nothing to compact"): // 0.99 to 0.225
		s.update(s.show.NothingToCompact()...)
		return ErrNothingToCompact
	case strings.Contains(err.Error(), "No access token"):
		err = errors.New("this droid needs a Factory login to compact, also with a model of your own (" + Plainly(err).Error() + ")." +
			s.proc.UnsupportedText(stream.CompactsWithoutLogin) + " " + diagnosis.LoginRemedy())
	}
	s.update(s.show.EndCompactionWith(render.CompactionFailed, render.CompactionFacts{Error: Plainly(err).Error()})...)
	return Failed("The conversation was not compacted", err)
}

// stopCompaction has droid stop a compaction that the user cancelled or that takes too long. droid ignores interrupts while it compacts
// (0.215, 0.225), so the process is ended, unless that would end something else that the user runs.
func (s *Session) stopCompaction(client *droid.Client) {
	if s.proc.Client() == client && !client.HasChildren() && !s.proc.SubagentsWork() && !s.servers.LogsIn(time.Now()) {
		s.endDroid(replaced, "it goes on compacting")
	}
}
