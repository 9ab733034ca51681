package adapter

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/fakedroid"
	"droid-acp/internal/quirks"
)

// twoDroids are two processes that are gone at the end of the test.
func twoDroids(t *testing.T, options ...fakedroid.Option) (first, second *droid.Client) {
	first, second = fakeDroid(says("hi"), options...), fakeDroid(says("hi"), options...)
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
		var p process
		require.Nil(t, p.client())
		require.Nil(t, p.events())
		require.False(t, p.starting())
		require.True(t, p.start(), "a process must be started")
		require.False(t, p.start(), "it is being started")
		require.True(t, p.starting())
		said := new(stream.SessionInfo)
		p.begun(said, nil)
		info, failure := p.outcome()
		require.Same(t, said, info)
		require.Nil(t, failure)
		require.False(t, p.starting())

		p.adopt(client, nil)
		require.Same(t, client, p.client())
		require.NotNil(t, p.events())
	})
}

// A process that was let go is no longer the session's. It is remembered until it
// is gone, so that the next one starts behind it.
func TestProcessIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := twoDroids(t)
		var p process
		p.adopt(first, nil)
		require.Same(t, first, p.letGo())
		require.Nil(t, p.client())
		require.Nil(t, p.events())
		require.Same(t, first, p.stillLeaving())
		p.adopt(second, nil)
		p.left(second)
		require.Same(t, first, p.stillLeaving())
		p.left(first)
		require.Nil(t, p.stillLeaving())
		require.Same(t, second, p.client())
	})
}

// A process whose end is awaited takes no prompt any more; the next one does.
func TestProcessEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := twoDroids(t)
		var p process
		p.expectEnd()
		require.False(t, p.dying(), "there is none")
		p.kill("nothing")

		p.adopt(first, nil)
		p.expectEnd()
		require.True(t, p.dying())
		require.Same(t, first, p.client(), "until its end is heard")
		p.kill("it had to")
		<-first.Exited()
		require.ErrorContains(t, first.ExitError(), "it had to")
		p.gone()
		require.False(t, p.dying())
		p.adopt(second, nil)
		require.False(t, p.dying())
	})
}

// The time to park comes once, and not while the session works.
func TestProcessIsParked(t *testing.T) {
	var p process
	now := time.Unix(1_000_000, 0)
	require.False(t, p.parkDue(now))
	_, ok := p.due()
	require.False(t, ok)
	p.rest(now.Add(time.Minute))
	at, ok := p.due()
	require.True(t, ok)
	require.Equal(t, now.Add(time.Minute), at)
	require.False(t, p.parkDue(at.Add(-1)))
	require.True(t, p.parkDue(at))
	require.False(t, p.parkDue(at))
	p.rest(at)
	p.stay()
	require.False(t, p.parkDue(at))
	_, ok = p.due()
	require.False(t, ok)
}

// What is held back comes in its time, unless the events of the process are not
// read: what it waits for may be among them.
func TestProcessHoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := twoDroids(t)
		var p process
		p.adopt(client, nil) // it has told no version, so an idle may be premature
		now := time.Now()
		p.norm.Begin(now, "r", "go")
		p.norm.Push(now, stream.TextDelta{MessageID: "m", Text: "hi"})
		p.norm.Push(now, stream.WorkingStateChanged{State: stream.StateIdle})
		at, ok := p.due()
		require.True(t, ok)
		p.rest(at.Add(time.Hour))
		sooner, _ := p.due()
		require.Equal(t, at, sooner)
		p.rest(at.Add(-1))
		sooner, _ = p.due()
		require.Equal(t, at.Add(-1), sooner)
		p.stay()

		p.pause(true)
		require.True(t, p.isPaused())
		_, ok = p.due()
		require.False(t, ok)
		require.Empty(t, p.tick(at))
		p.pause(false)
		require.Contains(t, p.tick(at), quirks.Event(quirks.TurnEnded{RequestID: "r"}))
	})
}

// What was open in a process that is gone still ends, and is told by its normaliser.
func TestProcessExited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := twoDroids(t)
		var p process
		p.adopt(first, nil)
		p.norm.Begin(time.Now(), "r", "go")
		p.gone()
		require.Empty(t, p.tick(time.Now().Add(time.Hour)))
		ended := p.norm.Exited(time.Now())
		require.Len(t, ended, 1)
		require.Equal(t, quirks.Failed, ended[0].(quirks.TurnEnded).Outcome)
		require.Empty(t, p.norm.Exited(time.Now()))

		p.adopt(second, []string{"t"})
		p.norm.Begin(time.Now(), "s", "go")
		events := p.norm.Push(time.Now(), stream.ToolCall{ToolUse: stream.ToolUse{ID: "t", Name: "Read"}})
		require.Len(t, events, 1)
		require.NotEqual(t, "t", events[0].(quirks.ToolStarted).ID, "that id was shown before")
	})
}

// endsSlowly is the stdin of a droid that takes a while to be gone when its stdout has ended,
// as one does whose tools are ended first.
type endsSlowly struct{ io.WriteCloser }

func (w endsSlowly) Close() error {
	time.Sleep(2 * time.Second)
	return w.WriteCloser.Close()
}

// What is asked while a dead droid is not gone yet goes to the next one.
func TestAskedWhileDroidEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sessions, die := fakedroid.WithSessions(new(fakedroid.Sessions)), func() {}
		e := begin(t, func(n int) (*droid.Client, error) {
			if n > 1 {
				return fakeDroid(says("hi"), sessions), nil
			}
			in, stdin := io.Pipe()
			stdout, out := io.Pipe()
			die = func() { _ = out.Close() }
			go func() {
				_ = fakedroid.Run(in, out, says("hi"), sessions)
				_ = in.Close()
			}()
			return droid.NewClient(stdout, endsSlowly{stdin}, zap.NewNop()), nil
		})
		require.Equal(t, "end_turn", e.run("one"))
		die()
		time.Sleep(time.Second)
		require.Equal(t, "end_turn", e.run("two"))
		require.Contains(t, e.updates(), "thought: droid had ended and was started again; the session continues.")
	})
}
