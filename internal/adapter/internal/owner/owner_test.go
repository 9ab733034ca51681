package owner

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/problem"
)

// ownerOf runs an owner without duties in a bubble until the test ends. What it
// lost to panics is in lost, which its goroutine alone touches.
type ownerOf struct {
	*Owner
	lost []any
}

func startOwner(t *testing.T, d Duties[int]) *ownerOf {
	t.Helper()
	o := &ownerOf{}
	o.Owner = New(context.Background(), zap.NewNop(), func(p any) { o.lost = append(o.lost, p) })
	nothing := func() {}
	if d.Await == nil {
		d.Await = func() (<-chan int, <-chan struct{}, time.Time) { return nil, nil, time.Time{} }
	}
	if d.End == nil {
		d.End = o.Settle
	}
	for _, f := range []*func(){&d.Room, &d.Tick, &d.Ended} {
		if *f == nil {
			*f = nothing
		}
	}
	go Run(o.Owner, d)
	t.Cleanup(func() {
		o.Stop()
		<-o.Over
	})
	return o
}

// TestOwnerDoesItsDuties: work, events, room and ticks, one after the other, and
// its end once.
func TestOwnerDoesItsDuties(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did []string
		note := func(what string) func() { return func() { did = append(did, what) } }
		events, room := make(chan int), make(chan struct{})
		until := time.Now().Add(time.Minute)
		waitForRoom := false
		var o *ownerOf
		o = startOwner(t, Duties[int]{
			Await: func() (<-chan int, <-chan struct{}, time.Time) {
				if waitForRoom {
					return nil, room, time.Time{}
				}
				return events, nil, until
			},
			Event: func(n int, open bool) {
				switch {
				case !open:
					note("closed")()
					events = nil
				case n == 2:
					panic("two")
				default:
					note("event")()
				}
			},
			Room:  func() { note("room")(); waitForRoom = false },
			Tick:  func() { note("tick")(); until = time.Now().Add(time.Hour) },
			End:   func() { note("end")(); o.Settle(); panic("at the end") },
			Ended: note("ended"),
		})
		require.True(t, o.Post(note("work")))
		synctest.Wait()
		events <- 1
		events <- 2
		events <- 3
		o.Post(func() { waitForRoom = true })
		synctest.Wait()
		room <- struct{}{}
		synctest.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		close(events)
		synctest.Wait()
		o.Stop()
		<-o.Over
		require.Equal(t, []string{"work", "event", "event", "room", "tick", "closed", "end", "ended"}, did)
		require.Equal(t, []any{"two", "at the end"}, o.lost)
		require.False(t, o.Post(note("late")))
	})
}

// TestTickComesWhenItIsDue: also where that moves on with each event, or back.
func TestTickComesWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var ticks []time.Duration
		var due time.Time
		events := make(chan int)
		o := startOwner(t, Duties[int]{
			Await: func() (<-chan int, <-chan struct{}, time.Time) { return events, nil, due },
			Event: func(seconds int, _ bool) { due = time.Now().Add(time.Duration(seconds) * time.Second) },
			Tick:  func() { ticks, due = append(ticks, time.Since(began)), time.Time{} },
			End:   func() {},
			Ended: func() {},
		})
		for range 5 {
			events <- 10
			time.Sleep(time.Second)
		}
		time.Sleep(8 * time.Second) // it is due 14 s after the beginning
		synctest.Wait()
		require.Empty(t, ticks)
		events <- 2 // sooner than the timer that is set
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, []time.Duration{15 * time.Second}, ticks)
		events <- 10
		events <- 5 // moves back
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, ticks, 2)
		require.Equal(t, began.Add(15*time.Second+time.Hour-2*time.Second+5*time.Second), began.Add(ticks[1]))
		o.Stop()
		<-o.Over
	})
}

// TestOwnerWaitsForWhatRunsBeside: at its end it does what the goroutines beside it
// post, and those that this work starts.
func TestOwnerWaitsForWhatRunsBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := startOwner(t, Duties[int]{})
		var did []string
		o.Post(func() {
			o.Do(func(ctx context.Context) {
				<-ctx.Done()
				time.Sleep(time.Second)
				o.Post(func() {
					did = append(did, "first")
					o.Do(func(context.Context) {
						time.Sleep(time.Second)
						o.Post(func() { did = append(did, "second") })
					})
				})
			})
		})
		synctest.Wait()
		o.Stop()
		<-o.Over
		require.Equal(t, []string{"first", "second"}, did)
	})
}

// TestOwnerSurvivesPanics: of its work, of what it waits for, of what runs beside
// it, and of what clears away after them.
func TestOwnerSurvivesPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		awaits := 0
		o := startOwner(t, Duties[int]{Await: func() (<-chan int, <-chan struct{}, time.Time) {
			if awaits++; awaits == 1 {
				panic("await")
			}
			return nil, nil, time.Time{}
		}})
		o.Post(func() { panic("work") })
		failed := false
		o.Do(func(context.Context) { panic("beside") })
		o.Post(func() {
			o.Go(func(t *Task) {
				defer func() { failed = true }()
				defer func() { panic("failed") }()
				t.Beside(func(context.Context) { panic("in a task") })
			})
		})
		synctest.Wait()
		require.True(t, failed)
		require.ElementsMatch(t, []any{"await", "work", "beside", "failed"}, o.lost)
		o.Owner.lost = func(any) { panic("again") }
		o.Post(func() { panic("once more") })
		did := false
		o.Post(func() { did = true })
		synctest.Wait()
		require.True(t, did)
	})
}

// TestAsk walks through all ways in which a task that somebody waits for can end.
func TestAsk(t *testing.T) {
	refused := problem.InvalidRequest("no")
	for name, c := range map[string]struct {
		task  func(o *ownerOf, t *Task) (string, *acp.RequestError)
		value string
		err   *acp.RequestError
	}{
		"at once": {task: func(*ownerOf, *Task) (string, *acp.RequestError) { return "a", nil }, value: "a"},
		"refused": {task: func(*ownerOf, *Task) (string, *acp.RequestError) { return "", refused }, err: refused},
		"later": {task: func(_ *ownerOf, t *Task) (string, *acp.RequestError) {
			t.Beside(func(context.Context) { time.Sleep(time.Second) })
			return "a", nil
		}, value: "a"},
		"a panic": {task: func(*ownerOf, *Task) (string, *acp.RequestError) { panic("test") }, err: problem.Lost()},
		"a panic beside": {task: func(_ *ownerOf, t *Task) (string, *acp.RequestError) {
			t.Beside(func(context.Context) { panic("test") })
			return "a", nil
		}, err: problem.Lost()},
		"a panic elsewhere": {task: func(o *ownerOf, t *Task) (string, *acp.RequestError) {
			o.Post(func() { panic("test") })
			t.Beside(func(context.Context) { time.Sleep(time.Second) })
			return "a", nil
		}, value: "a"},
		"the owner ends, and the task after it": {task: func(o *ownerOf, t *Task) (string, *acp.RequestError) {
			o.Stop()
			t.Beside(func(context.Context) { time.Sleep(time.Second) })
			return "a", nil
		}, value: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, ordered := startOwner(t, Duties[int]{}), 0
				value, err := Ask(o.Owner, func() { ordered++ }, func(t *Task) (string, *acp.RequestError) { return c.task(o, t) })
				require.Equal(t, 1, ordered)
				require.Equal(t, c.err, err)
				require.Equal(t, c.value, value)
			})
		})
	}
}

// Who asks an owner that has ended is told so, or why it takes nothing.
func TestAskEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := startOwner(t, Duties[int]{})
		o.Stop()
		<-o.Over
		ask := func() *acp.RequestError {
			_, err := Ask(o.Owner, nil, func(*Task) (string, *acp.RequestError) { return "a", nil })
			return err
		}
		require.Equal(t, problem.Ending(), ask())
		o.Refuse(problem.InvalidRequest("no"))
		require.Equal(t, problem.InvalidRequest("no"), ask())
	})
}

// The first value counts, whether a task waits for it or comes later. Who waits no longer as the context has ended may wait again.
func TestLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := startOwner(t, Duties[int]{})
		var l Later[int]
		var got []string
		ctx, cancel := context.WithCancelCause(t.Context())
		await := func(t *Task) { got = append(got, fmt.Sprint(l.Await(ctx, t))) }
		o.Post(func() {
			o.Go(func(t *Task) {
				await(t)
				got = append(got, fmt.Sprint(l.Await(context.Background(), t)))
			})
		})
		cancel(errors.New("over"))
		synctest.Wait()
		o.Post(func() {
			l.Set(1)
			got = append(got, "set")
			l.Set(3)
			o.Go(await)
		})
		synctest.Wait()
		require.Equal(t, []string{"0 over", "1 <nil>", "set", "1 <nil>"}, got)
	})
}

// TestAskedInOrder: who is told that its work has its place can rely on it.
func TestAskedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := startOwner(t, Duties[int]{})
		var did []string
		busy := make(chan struct{})
		o.Post(func() { <-busy })
		go Ask(o.Owner, func() { o.Post(func() { did = append(did, "second") }) },
			func(*Task) (string, *acp.RequestError) { did = append(did, "first"); return "", nil })
		synctest.Wait()
		close(busy)
		synctest.Wait()
		require.Equal(t, []string{"first", "second"}, did)
	})
}
