package session

import (
	"context"
	"time"

	"droid-acp/internal/adapter/internal/filecalls"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// Only the file of a subagent shows what it does (quirk 40). While it works, the file is read periodically; when droid reports its end,
// later events wait until the file was read to its end.

// lookAtSubagents reads on in the files whose time has come.
func (s *Session) lookAtSubagents(now time.Time) {
	for _, id := range s.proc.NextSubagents(now) {
		s.mu.Go(func() {
			norm := s.proc.Normalizer()
			from, to, lines := s.readSubagent(s.Context, id)
			if s.proc.Normalizer() != norm || s.fileCalls.Waiting() != nil || s.showsHistory() || !s.proc.Subagents.Read(id, from, to) {
				return // droid is another one, or what was read has to wait: it is read again
			}
			s.subagentWrote(norm, id, lines)
		})
	}
}

// fileTime bounds the wait for a subagent's file: what droid says may have to wait for it.
const fileTime = 2 * time.Second

// readSubagent reads a subagent's file on, without the lock.
func (s *Session) readSubagent(ctx context.Context, id string) (from, to store.Offset, lines []stream.ChildLine) {
	from = s.proc.Subagents.Offset(id)
	_ = s.unlockedFor(ctx, fileTime, func(ctx context.Context) error { lines, to = s.deps.Threads.Subagent(ctx, id, from); return nil })
	return from, to, lines
}

// subagentWrote applies what a subagent's file says, and then what waited for that.
func (s *Session) subagentWrote(norm *quirks.Normalizer, id string, lines []stream.ChildLine, behind ...quirks.Event) {
	now := time.Now()
	s.apply(append(norm.HandleSubagentLines(now, id, lines), behind...))
	if !norm.SubagentRunning(id) && s.proc.Subagents.Stopped(now, id, norm.HasOpenSubagentCalls(id)) {
		s.apply(norm.EndSubagentFile(now, id))
	}
}

// mostReads bounds how often a file is read on for its end, so that one which grows without an end has one.
const mostReads = 64

// readToEnd reads the file of a subagent that has ended. Later events wait for that.
func (s *Session) readToEnd(held *filecalls.Deferred, id string) {
	s.mu.Go(func() {
		defer func() {
			if s.fileCalls.Waiting() == held { // a panic: nothing waits for it any more
				s.readNoMore()
			}
		}()
		norm, all := s.proc.Normalizer(), []stream.ChildLine(nil)
		for range mostReads {
			from, to, lines := s.readSubagent(s.Context, id)
			if s.fileCalls.Waiting() != held {
				return // droid has ended in the meantime, or the session
			}
			all = append(all, lines...)
			if !s.proc.Subagents.Read(id, from, to) || from == to {
				break
			}
		}
		s.subagentWrote(norm, id, all, s.fileCalls.Release(held)[1:]...)
	})
}

// loseSubagentCalls ends the calls of subagents that still run: the editor is about to get the conversation again, without these calls.
func (s *Session) loseSubagentCalls() {
	if norm := s.proc.Normalizer(); norm != nil {
		for _, id := range s.proc.Subagents.IDs() {
			s.apply(norm.EndSubagentFile(time.Now(), id))
		}
	}
}
