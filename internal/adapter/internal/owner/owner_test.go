package owner

import (
	"context"
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

// inquired is the outcome of an inquiry that runs beside the test.
type inquired struct {
	value string
	err   *acp.RequestError
	done  bool
}

func (o *ownerOf) ask(q Inquiry[string]) *inquired {
	a := &inquired{}
	go func() {
		a.value, a.err = Ask(o.Owner, q)
		a.done = true
	}()
	synctest.Wait()
	return a
}

type giveAnswer = func(string, *acp.RequestError)

// TestAskOwner walks through all ways in which an inquiry can end. later is the
// answer function that the work left to the test.
func TestAskOwner(t *testing.T) {
	refused := problem.InvalidRequest("no")
	lost, ending := problem.Lost(), problem.Ending()
	var later giveAnswer
	leave := func(answer giveAnswer) { later = answer }
	for name, c := range map[string]struct {
		work      func(giveAnswer)
		held      func() bool
		cancelled func(giveAnswer)
		then      func(o *ownerOf, cancel func())
		value     string
		err       *acp.RequestError
		waits     bool // there is no answer, until the owner ends
	}{
		"answered at once":    {work: func(answer giveAnswer) { answer("a", nil) }, value: "a"},
		"refused":             {work: func(answer giveAnswer) { answer("", refused) }, err: refused},
		"answered later":      {work: leave, then: func(*ownerOf, func()) { later("a", nil) }, value: "a"},
		"answered twice":      {work: func(answer giveAnswer) { answer("a", nil); answer("b", refused); answer("c", nil) }, value: "a"},
		"answered after that": {work: leave, then: func(*ownerOf, func()) { later("a", nil); synctest.Wait(); later("b", nil) }, value: "a"},
		"answered and lost":   {work: func(answer giveAnswer) { answer("a", nil); panic("test") }, value: "a"},
		"not answered":        {work: leave, waits: true},

		"the owner ends":        {work: leave, then: func(o *ownerOf, _ func()) { o.Stop() }, err: ending},
		"answered at its end":   {work: leave, then: func(o *ownerOf, _ func()) { o.Post(func() { later("a", nil); o.Stop() }) }, value: "a"},
		"a panic in the work":   {work: func(giveAnswer) { panic("test") }, err: lost},
		"a panic elsewhere":     {work: leave, then: func(o *ownerOf, _ func()) { o.Post(func() { panic("test") }) }, err: lost},
		"a panic beside":        {work: leave, then: func(o *ownerOf, _ func()) { o.Do(func(context.Context) { panic("test") }) }, err: lost},
		"panic in work, held":   {work: func(giveAnswer) { panic("test") }, held: func() bool { return true }, waits: true},
		"panic in work, gone":   {work: func(giveAnswer) { panic("test") }, held: func() bool { return false }, err: lost},
		"panic elsewhere, held": {work: leave, held: func() bool { return true }, then: func(o *ownerOf, _ func()) { o.Post(func() { panic("test") }) }, waits: true},
		"panic elsewhere, gone": {work: leave, held: func() bool { return false }, then: func(o *ownerOf, _ func()) { o.Post(func() { panic("test") }) }, err: lost},
		"held, then answered": {work: leave, held: func() bool { return true }, then: func(o *ownerOf, _ func()) {
			o.Post(func() { panic("test") })
			synctest.Wait()
			o.Post(func() { panic("test") })
			synctest.Wait()
			later("a", nil)
		}, value: "a"},

		"cancelled, which says nothing": {work: leave, then: func(_ *ownerOf, cancel func()) { cancel() }, waits: true},
		"cancelled":                     {work: leave, cancelled: RefuseWhenCancelled[string], then: func(_ *ownerOf, cancel func()) { cancel() }, err: problem.Cancelled()},
		"cancelled before":              {work: func(answer giveAnswer) { answer("a", nil) }, cancelled: RefuseWhenCancelled[string], then: func(_ *ownerOf, cancel func()) { cancel() }, value: "a"},
		"cancelled, answered then":      {work: leave, cancelled: func(giveAnswer) { later("stopped", nil) }, then: func(_ *ownerOf, cancel func()) { cancel() }, value: "stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := startOwner(t, Duties[int]{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ordered := 0
				a := o.ask(Inquiry[string]{Work: c.work, Held: c.held, Context: ctx, Cancelled: c.cancelled, Ordered: func() { ordered++ }})
				require.Equal(t, 1, ordered)
				if c.then != nil {
					c.then(o, cancel)
					synctest.Wait()
				}
				require.Equal(t, !c.waits, a.done)
				if c.waits {
					o.Stop()
					synctest.Wait()
					c.err = ending
				}
				require.True(t, a.done)
				require.Equal(t, c.err, a.err)
				require.Equal(t, c.value, a.value)
			})
		})
	}
}

// TestAskAnOwnerThatHasEnded: the work is not done, and nobody waits.
func TestAskAnOwnerThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := startOwner(t, Duties[int]{})
		o.Stop()
		<-o.Over
		did, ordered := false, false
		a := o.ask(Inquiry[string]{Work: func(giveAnswer) { did = true }, Ordered: func() { ordered = true }})
		require.True(t, a.done)
		require.Equal(t, problem.Ending(), a.err)
		require.True(t, ordered)
		require.False(t, did)
	})
}

// TestAskedInOrder: who is told that its work has its place can rely on it.
func TestAskedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := startOwner(t, Duties[int]{})
		var did []string
		busy := make(chan struct{})
		o.Post(func() { <-busy })
		o.ask(Inquiry[string]{
			Work:    func(answer giveAnswer) { did = append(did, "first"); answer("", nil) },
			Ordered: func() { o.Post(func() { did = append(did, "second") }) },
		})
		close(busy)
		synctest.Wait()
		require.Equal(t, []string{"first", "second"}, did)
	})
}
