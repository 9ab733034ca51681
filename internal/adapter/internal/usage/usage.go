// Package usage keeps what a session has used of the model.
package usage

import (
	"fmt"
	"maps"
	"time"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render/export"
)

// Usage is what a session has used of the model. The zero value is for a new one.
type Usage struct {
	told       quirks.UsageChanged // last
	used, size int64               // of the context window, in tokens; zero where droid has not told

	running map[string]*turn       // turns that run, by the ids of their requests
	turns   map[string]export.Turn // turns that this agent has seen, by the id of the user's message

	due time.Time // when droid is to be asked, zero for never
}

// askAfter is how long after a turn droid is asked how full the context window is. It takes 17 ms
// to answer (0.225.2), for which a prompt that came right behind the turn would wait.
const askAfter = 100 * time.Millisecond

// TurnEnded notes that a turn has ended, after which the context window is as full as droid says.
func (u *Usage) TurnEnded(now time.Time) { u.due = now.Add(askAfter) }

// Due is when droid is to be asked; ok is false when it is not.
func (u *Usage) Due() (at time.Time, ok bool) { return u.due, !u.due.IsZero() }

// NotDue notes that droid is asked now, or need not be: the end of a turn that begins asks anew.
func (u *Usage) NotDue() { u.due = time.Time{} }

// turn is a turn with the user's message that it answers.
type turn struct {
	message string
	export.Turn
}

// Began notes which message a turn answers, and with which model it began.
func (u *Usage) Began(ev quirks.TurnStarted, model string) {
	if u.running == nil {
		u.running, u.turns = make(map[string]*turn), make(map[string]export.Turn)
	}
	u.running[ev.RequestID] = &turn{ev.MessageID, export.Turn{Model: model}}
}

// Finished notes what a turn took, where droid tells (since 0.215).
func (u *Usage) Finished(ev quirks.TurnEnded) {
	t := u.running[ev.RequestID]
	delete(u.running, ev.RequestID)
	if t == nil || t.message == "" {
		return
	}
	if Of(ev.Used) != nil {
		t.Used = ev.Used
	}
	u.turns[t.message] = t.Turn
}

// Past are the turns that this agent has seen, by the id of the user's message. The
// map is the caller's.
func (u *Usage) Past() map[string]export.Turn { return maps.Clone(u.turns) }

// Changed takes what droid tells.
func (u *Usage) Changed(ev quirks.UsageChanged) { u.told = ev }

// Told is what droid told last: of all calls of the model, and of the last one.
func (u *Usage) Told() quirks.UsageChanged { return u.told }

// Fills takes how full the context window is. It returns nil for what cannot be: no size is
// better than an invented one.
func (u *Usage) Fills(used, size int64) *protocol.UsageUpdate {
	if size <= 0 || used < 0 {
		return nil
	}
	u.used, u.size = used, size
	return &protocol.UsageUpdate{SessionUpdate: "usage_update", Used: used, Size: size}
}

// Window is how full the context window is, size 0 where droid has not told.
func (u *Usage) Window() (used, size int64) { return u.used, u.size }

// Table shows what droid told last.
func (u *Usage) Table() string {
	return "Tokens of this session, as far as droid told them:\n\n| | input | output | cache read | cache written | thinking |\n|---|---|---|---|---|---|\n" +
		tableLine("all calls", u.told.Total) + tableLine("last call", u.told.LastCall)
}

func tableLine(name string, u stream.TokenUsage) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d |\n", name, u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheCreationTokens, u.ThinkingTokens)
}

// Of is what a prompt's response tells of its turn, nil where droid told nothing:
// before 0.215 it tells the session's usage half a second after the turn, for which no
// response waits, and of a call that is cut off it tells 0. Subagents count apart.
func Of(u stream.TokenUsage) *protocol.Usage {
	total := u.InputTokens + u.OutputTokens + u.CacheReadTokens + u.CacheCreationTokens
	if total <= 0 || min(u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheCreationTokens, u.ThinkingTokens) < 0 {
		return nil
	}
	return &protocol.Usage{TotalTokens: total, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, ThoughtTokens: u.ThinkingTokens,
		CachedReadTokens: u.CacheReadTokens, CachedWriteTokens: u.CacheCreationTokens}
}

// Sum is what two turns took.
func Sum(a, b stream.TokenUsage) stream.TokenUsage {
	return stream.TokenUsage{
		InputTokens: a.InputTokens + b.InputTokens, OutputTokens: a.OutputTokens + b.OutputTokens, CacheCreationTokens: a.CacheCreationTokens + b.CacheCreationTokens,
		CacheReadTokens: a.CacheReadTokens + b.CacheReadTokens, ThinkingTokens: a.ThinkingTokens + b.ThinkingTokens,
	}
}
