package process

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/testing/fakedroid"
)

// fakeDroid is a droid that says nothing.
func fakeDroid() *droid.Client {
	stdout, stdin := fakedroid.Start(fakedroid.EachPrompt(func(*fakedroid.Droid, fakedroid.Prompt) error { return nil }))
	return droid.NewClient(stdout, stdin, zap.NewNop())
}

// twoDroids are two processes that are gone at the end of the test.
func twoDroids(t *testing.T) (first, second *droid.Client) {
	first, second = fakeDroid(), fakeDroid()
	t.Cleanup(func() {
		for _, client := range []*droid.Client{first, second} {
			client.Kill()
			<-client.Exited()
		}
	})
	return first, second
}

// Whoever comes while a process is being started waits for that one.
func TestProcessIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := twoDroids(t)
		var p Process
		require.Nil(t, p.Client())
		require.Nil(t, p.Events())
		require.False(t, p.Starting())
		require.True(t, p.BeginStart(1), "a process must be started")
		require.False(t, p.BeginStart(1), "it is being started")
		require.True(t, p.Starting())
		said := new(stream.SessionInfo)
		p.StartEnded(said, nil)
		info, failure := p.Outcome(1)
		require.Same(t, said, info)
		more, _ := p.Outcome(2)
		require.Nil(t, more, "that was not asked for")
		require.Nil(t, failure)
		require.False(t, p.Starting())

		p.Adopt(client, nil)
		require.Same(t, client, p.Client())
		require.NotNil(t, p.Events())
	})
}

// A process that was replaced no longer belongs to the session. It is remembered until it has exited, so that the next one starts after it.
func TestProcessIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := twoDroids(t)
		var p Process
		p.Adopt(first, nil)
		require.Same(t, first, p.Replace())
		require.Nil(t, p.Client())
		require.Nil(t, p.Events())
		require.Same(t, first, p.Exiting())
		p.Adopt(second, nil)
		p.OldExited(first)
		require.Nil(t, p.Exiting())
		require.Same(t, second, p.Client())
		require.Same(t, second, p.Replace())
		p.OldExited(first)
		require.Same(t, second, p.Exiting())
		ctx, hurry := context.WithCancel(context.Background())
		hurry()
		Close(ctx, second)
		p.OldExited(second)
		require.Nil(t, p.Exiting())
	})
}

// A process whose end is awaited takes no prompt any more; the next one does.
func TestProcessEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := twoDroids(t)
		var p Process
		p.MarkEnding()
		require.False(t, p.Ending(), "there is none")
		p.Kill("nothing")

		p.Adopt(first, nil)
		p.MarkEnding()
		require.True(t, p.Ending())
		require.Same(t, first, p.Client(), "until its end is heard")
		p.Kill("it had to")
		<-first.Exited()
		require.ErrorContains(t, first.ExitError(), "it had to")
		require.True(t, p.Exited(nil), "it was ending by itself")
		require.False(t, p.Ending())
		p.Adopt(second, nil)
		require.False(t, p.Ending())
		p.Kill("it did not stop")
		p.MarkEnding()
		p.Kill("a panic")
		require.False(t, p.Exited(nil))
	})
}

// The time to park comes once, and not while the session works.
func TestProcessIsParked(t *testing.T) {
	var p Process
	now := time.Unix(1_000_000, 0)
	require.False(t, p.ParkDue(now))
	_, ok := p.Due()
	require.False(t, ok)
	p.ScheduleParking(now, 0)
	require.False(t, p.ParkDue(now.Add(time.Hour)), "it is never parked")
	p.ScheduleParking(now, time.Minute)
	at, ok := p.Due()
	require.True(t, ok)
	require.Equal(t, now.Add(time.Minute), at)
	require.False(t, p.ParkDue(at.Add(-1)))
	require.True(t, p.ParkDue(at))
	require.False(t, p.ParkDue(at))
	p.parkAt = at
	p.CancelParking()
	require.False(t, p.ParkDue(at))
	_, ok = p.Due()
	require.False(t, ok)
}

// Delayed events are due in time, unless the events of the process are not read: those that they wait for may be among them.
func TestProcessHoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := twoDroids(t)
		var p Process
		p.Adopt(client, nil) // it has not sent its version, so an idle may be premature
		now := time.Now()
		p.normalizer.Begin(now, "r", "go")
		p.normalizer.Handle(now, stream.TextDelta{MessageID: "m", Text: "hi"})
		p.normalizer.Handle(now, stream.WorkingStateChanged{State: stream.StateIdle})
		at, ok := p.Due()
		require.True(t, ok)
		p.parkAt = at.Add(time.Hour)
		sooner, _ := p.Due()
		require.Equal(t, at, sooner)
		p.parkAt = at.Add(-1)
		sooner, _ = p.Due()
		require.Equal(t, at.Add(-1), sooner)
		p.CancelParking()

		p.Pause(true)
		require.True(t, p.paused)
		_, ok = p.Due()
		require.False(t, ok)
		require.Empty(t, p.Tick(at))
		p.Pause(false)
		require.Contains(t, p.Tick(at), quirks.Event(quirks.TurnEnded{RequestID: "r"}))
	})
}

// What was open in a process that has exited still ends, reported by its normalizer.
func TestProcessExited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := twoDroids(t)
		var p Process
		p.Adopt(first, nil)
		p.normalizer.Begin(time.Now(), "r", "go")
		p.Exited(nil)
		require.Empty(t, p.Tick(time.Now().Add(time.Hour)))
		ended := p.normalizer.DroidExited(time.Now())
		require.Len(t, ended, 1)
		require.Equal(t, quirks.Failed, ended[0].(quirks.TurnEnded).Outcome)
		require.Empty(t, p.normalizer.DroidExited(time.Now()))

		p.Adopt(second, []string{"t"})
		p.normalizer.Begin(time.Now(), "s", "go")
		events := p.normalizer.Handle(time.Now(), stream.ToolCall{ToolUse: stream.ToolUse{ID: "t", Name: "Read"}})
		require.Len(t, events, 1)
		require.NotEqual(t, "t", events[0].(quirks.ToolStarted).ID, "that id was shown before")
	})
}
