package session

import (
	"context"
	"fmt"
	"maps"
	"time"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render/export"
)

// usage counts what a session has used of the model. The zero value is for a new one.
type usage struct {
	told       quirks.UsageChanged // last
	used, size int64               // of the context window, in tokens; zero if droid has not reported it

	running map[string]*usedTurn   // turns that run, by the ids of their requests
	turns   map[string]export.Turn // turns that this agent has seen, by the id of the user's message

	due time.Time // when droid is to be asked, zero for never
}

// askAfter is how long after a turn droid is asked how full the context window is. It takes 17 ms
// to answer (0.225.2), for which a prompt that came right behind the turn would wait.
const askAfter = 100 * time.Millisecond

// turnEnded notes that a turn has ended, after which the context window is as full as droid says.
func (u *usage) turnEnded(now time.Time) { u.due = now.Add(askAfter) }

// dueAt returns the time when droid is to be asked; ok is false when it is not.
func (u *usage) dueAt() (at time.Time, ok bool) { return u.due, !u.due.IsZero() }

// usedTurn is a turn with the user's message that it answers.
type usedTurn struct {
	message string
	export.Turn
}

// began notes which message a turn answers, and with which model it began.
func (u *usage) began(ev quirks.TurnStarted, model string) {
	if u.running == nil {
		u.running, u.turns = make(map[string]*usedTurn), make(map[string]export.Turn)
	}
	u.running[ev.RequestID] = &usedTurn{ev.MessageID, export.Turn{Model: model}}
}

// finished notes what a turn took, if droid reports it (since 0.215).
func (u *usage) finished(ev quirks.TurnEnded) {
	t := u.running[ev.RequestID]
	delete(u.running, ev.RequestID)
	if t == nil || t.message == "" {
		return
	}
	if promptUsage(ev.Used) != nil {
		t.Used = ev.Used
	}
	u.turns[t.message] = t.Turn
}

// past returns the turns that this agent has seen, by the id of the user's message. The
// map is the caller's.
func (u *usage) past() map[string]export.Turn { return maps.Clone(u.turns) }

// fills takes how full the context window is. It returns nil for what cannot be: no size is
// better than an invented one.
func (u *usage) fills(used, size int64) *protocol.UsageUpdate {
	if size <= 0 || used < 0 {
		return nil
	}
	u.used, u.size = used, size
	return &protocol.UsageUpdate{SessionUpdate: "usage_update", Used: used, Size: size}
}

// table shows what droid reported last.
func (u *usage) table() string {
	return "Tokens of this session, as far as droid told them:\n\n| | input | output | cache read | cache written | thinking |\n|---|---|---|---|---|---|\n" +
		tableLine("all calls", u.told.Total) + tableLine("last call", u.told.LastCall)
}

func tableLine(name string, u stream.TokenUsage) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d |\n", name, u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheCreationTokens, u.ThinkingTokens)
}

// promptUsage returns the usage of a turn for its response, nil if droid reported nothing: before 0.215 it reports the session's usage half
// a second after the turn, for which no response waits, and it reports 0 for a call that is cut off. Subagents count separately.
func promptUsage(u stream.TokenUsage) *protocol.Usage {
	total := u.InputTokens + u.OutputTokens + u.CacheReadTokens + u.CacheCreationTokens
	if total <= 0 || min(u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheCreationTokens, u.ThinkingTokens) < 0 {
		return nil
	}
	return &protocol.Usage{TotalTokens: total, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, ThoughtTokens: u.ThinkingTokens,
		CachedReadTokens: u.CacheReadTokens, CachedWriteTokens: u.CacheCreationTokens}
}

// sumUsage returns the sum of two usages.
func sumUsage(a, b stream.TokenUsage) stream.TokenUsage {
	return stream.TokenUsage{
		InputTokens: a.InputTokens + b.InputTokens, OutputTokens: a.OutputTokens + b.OutputTokens, CacheCreationTokens: a.CacheCreationTokens + b.CacheCreationTokens,
		CacheReadTokens: a.CacheReadTokens + b.CacheReadTokens, ThinkingTokens: a.ThinkingTokens + b.ThinkingTokens,
	}
}

// askTime bounds how long droid may take to answer a question about itself.
const askTime = 10 * time.Second

// updateUsage reports how full the context window is, if droid reports it (since 0.215). The
// response to a prompt does not wait for it, that to a load does.
func (s *Session) updateUsage() {
	s.usage.due = time.Time{}
	if !s.proc.Supports(stream.TellsContextUse) {
		return
	}
	s.mu.Go(func() {
		s.proc.BeginQuery()
		defer s.proc.EndQuery()
		client, stats := s.proc.Client(), droid.ContextStats{}
		err := s.unlockedFor(s.Context, askTime, func(ctx context.Context) (err error) {
			stats, err = client.ContextStats(ctx)
			return err
		})
		if s.ended || err != nil {
			return
		}
		if update := s.usage.fills(stats.Used, stats.Limit); update != nil {
			s.update(*update)
		}
	})
}

// UsageTable shows the tokens that the session used.
func (s *Session) UsageTable() string { return s.usage.table() }

// ContextUse returns what fills the context window. lacks says that this droid does not report it, "" if it does.
func (s *Session) ContextUse(ctx context.Context) (use droid.ContextBreakdown, lacks string, err error) {
	err = s.askDroid(ctx, func(ctx context.Context, client *droid.Client) (err error) {
		if version := client.Version(); !version.Supports(stream.TellsContextUse) {
			lacks = version.UnsupportedText(stream.TellsContextUse)
			return nil
		}
		use, err = client.ContextBreakdown(ctx)
		return err
	})
	return use, lacks, err
}
