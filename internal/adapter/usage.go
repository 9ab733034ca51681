package adapter

import (
	"context"
	"maps"
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/transcript"
)

// usage is what a session has used of the model.
type usage struct {
	quirks.UsageChanged                    // as droid told last
	window              droid.ContextStats // how full the context window is, zero where droid has not told

	running map[string]*pastTurn       // turns that run, by the ids of their requests
	turns   map[string]transcript.Turn // turns that this agent has seen, by the id of the user's message
}

// pastTurn is a turn with the user's message that it answers.
type pastTurn struct {
	message string
	transcript.Turn
}

// began notes which message a turn answers, and with which model it began.
func (u *usage) began(ev quirks.TurnStarted, model string) {
	if u.running == nil {
		u.running, u.turns = make(map[string]*pastTurn), make(map[string]transcript.Turn)
	}
	u.running[ev.RequestID] = &pastTurn{ev.MessageID, transcript.Turn{Model: model}}
}

// finished notes what a turn took, where droid tells (since 0.215).
func (u *usage) finished(ev quirks.TurnEnded) {
	t := u.running[ev.RequestID]
	delete(u.running, ev.RequestID)
	if t == nil || t.message == "" {
		return
	}
	if usageOf(ev.Used) != nil {
		t.Used = ev.Used
	}
	u.turns[t.message] = t.Turn
}

// past are the turns that this agent has seen, by the id of the user's message. The
// map is the caller's.
func (u *usage) past() map[string]transcript.Turn { return maps.Clone(u.turns) }

// changed takes what droid tells.
func (u *usage) changed(ev quirks.UsageChanged) { u.UsageChanged = ev }

// fills takes how full the context window is.
func (u *usage) fills(stats droid.ContextStats) { u.window = stats }

// usageOf is what a prompt's response tells of its turn, nil where droid told nothing:
// before 0.215 it tells the session's usage half a second after the turn, for which no
// response waits, and of a call that is cut off it tells 0. Subagents count apart.
func usageOf(u stream.TokenUsage) *protocol.Usage {
	total := u.InputTokens + u.OutputTokens + u.CacheReadTokens + u.CacheCreationTokens
	if total <= 0 || min(u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheCreationTokens, u.ThinkingTokens) < 0 {
		return nil
	}
	return &protocol.Usage{TotalTokens: total, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, ThoughtTokens: u.ThinkingTokens,
		CachedReadTokens: u.CacheReadTokens, CachedWriteTokens: u.CacheCreationTokens}
}

// askTime bounds how long droid may take to answer a question about itself.
const askTime = 10 * time.Second

// tellUsage reports how full the context window is, where droid tells (since 0.117). The
// response to a prompt does not wait for it, that to a load does.
func (s *Session) tellUsage() {
	if s.proc.Client() == nil || !s.proc.Has(stream.TellsContextUse) {
		return
	}
	client := s.proc.Client()
	answered := s.proc.Asking()
	s.Do(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		stats, err := client.ContextStats(ctx)
		s.Post(func() {
			answered()
			if s.ended || err != nil || stats.Limit <= 0 || stats.Used < 0 {
				return // no size is better than an invented one
			}
			s.usage.fills(stats)
			s.tell(protocol.UsageUpdate{SessionUpdate: "usage_update", Used: stats.Used, Size: stats.Limit})
		})
	}, answered)
}
