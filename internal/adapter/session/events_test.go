package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/process"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
	"droid-acp/internal/testing/fakedroid"
)

// noPrompts is a session's queue of prompts in which nothing is done.
func noPrompts() turns.Queue[*userPrompt] {
	return turns.NewQueue[*userPrompt](uuid.NewString, func(turns.Action) {})
}

// TestSilenceOfACancelledTurnIsNotTold: nor while a tool runs or the user is asked.
func TestSilenceOfACancelledTurnIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		stdout, stdin := fakedroid.Start(func(*fakedroid.Droid) error { return nil })
		client := droid.NewClient(stdout, stdin, zap.NewNop())
		defer func() { client.Kill(); <-client.Exited() }()
		fresh := func() *Session {
			s := &Session{proc: process.New(), prompts: noPrompts(), show: render.New(render.Options{})}
			s.proc.Adopt(client, nil)
			s.proc.RestartSilence(now)
			s.prompts.Accept(1, turns.ToDroid)
			s.prompts.Ready(1)
			s.prompts.Taken(now, 1)
			return s
		}
		at, ok := fresh().silenceDue()
		require.True(t, ok)
		require.Equal(t, now.Add(time.Minute), at)
		for name, change := range map[string]func(*Session){
			"no turn":           func(s *Session) { s.prompts = noPrompts() },
			"cancelled":         func(s *Session) { s.prompts.Cancel(now) },
			"no process":        func(s *Session) { s.proc.Exited(nil) },
			"the user is asked": func(s *Session) { s.questions.Open("x", nil) },
			"a tool runs":       func(s *Session) { s.show.Event(render.Moment{}, quirks.ToolStarted{ID: "t"}, nil) },
		} {
			s := fresh()
			change(s)
			_, ok := s.silenceDue()
			require.False(t, ok, name)
		}
	})
}

// A cancelled message that droid runs after its turn is stopped at once, even if nothing else is pending (a world of TestWorlds waited
// forever).
func TestCancelledMessageIsStoppedAtOnce(t *testing.T) {
	var sent []string
	s, now := &Session{proc: process.New(), show: render.New(render.Options{})}, time.Now()
	s.prompts = turns.NewQueue[*userPrompt](uuid.NewString, func(a turns.Action) {
		if send, is := a.(turns.Send); is {
			sent = append(sent, send.Request)
		}
	})
	s.prompts.Accept(1, turns.ToDroid)
	s.prompts.Ready(1)
	s.prompts.Taken(now, 1)
	s.prompts.Join(2, turns.Soon)
	s.prompts.Looked(2, true, nil)
	s.prompts.Taken(now, 2)
	s.prompts.Cancel(now)
	s.prompts.Ended(sent[0], turns.Cancelled, nil)
	due := s.nextTick()
	require.False(t, due.IsZero())
	require.True(t, due.Before(now))
}

// What has read for events that were released meanwhile releases none that are held since.
func TestReleaseEvents(t *testing.T) {
	before, since := &heldEvents{[]quirks.Event{quirks.Notice{Text: "1"}}}, &heldEvents{[]quirks.Event{quirks.Notice{Text: "2"}}}
	s := &Session{held: since}
	require.Empty(t, s.releaseEvents(before))
	require.Equal(t, since.events, s.releaseEvents(since))
	require.Empty(t, s.releaseEvents(since))
}
