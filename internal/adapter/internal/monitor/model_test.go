package monitor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

var (
	errEnded = errors.New("ended")
	errGone  = errors.New("gone")
)

// actor is a goroutine that runs the steps of do on a Monitor, one after the other, with its state in the model.
type actor struct {
	name   string
	do     chan func()
	task   bool // it was begun by Go or Post, and ends with its function
	got    bool // it has the lock
	result any  // of its last wait: nil, an error, or a panic's value

	// The model's.
	has       bool
	waits     bool // for condition
	condition func() bool
	throws    bool // the condition panics where it would hold
	patient   bool
	gone      bool // its context has ended
	cancel    context.CancelCauseFunc
	back      chan bool // ends what it does in Unlocked, by a panic or not; nil where it does nothing
	expect    any
}

// state holds the values that conditions read. The model has a copy.
type state struct {
	flags   [3]bool
	pending bool // Refresh sets the first flag
	steps   int  // that Advance has left, each of which sets a flag
}

func (s *state) refresh() {
	s.flags[0], s.pending = s.flags[0] || s.pending, false
}

func (s *state) advance() bool {
	if s.steps == 0 {
		return false
	}
	s.steps--
	s.flags[s.steps%len(s.flags)] = true
	return true
}

// world is a Monitor with its actors, and the model of both.
type world struct {
	t      *testing.T
	random *rand.Rand
	m      *Monitor
	actors []*actor
	inside int // actors that have the lock
	log    []string

	real, model       state
	panics, expected  int
	holder            *actor
	waiters           []*actor
	arrivals, lenders []*actor
	outside           int
	ended             bool
}

// unlock models the end of a critical section.
func (w *world) unlock() {
	w.holder.has, w.holder = false, nil
	if n := len(w.lenders); n > 0 {
		lender := w.lenders[n-1]
		w.lenders = w.lenders[:n-1]
		w.hand(lender)
		return
	}
	for {
		w.model.refresh()
		for _, a := range w.waiters {
			if a.waits && w.proceeds(a) {
				w.hand(a)
				return
			}
		}
		if !w.model.advance() {
			break
		}
	}
	if len(w.arrivals) > 0 {
		w.handNext()
	}
}

func (w *world) proceeds(a *actor) bool {
	switch holds := a.condition(); {
	case holds && a.throws:
		a.expect = "thrown"
	case holds:
		a.expect = nil
	case w.ended && !a.patient:
		a.expect = errEnded
	default:
		return false
	}
	return true
}

func (w *world) handNext() {
	a := w.arrivals[0]
	if a.waits {
		a.expect = errGone
		if w.ended && !a.patient {
			a.expect = errEnded
		}
	}
	w.hand(a)
}

func (w *world) hand(a *actor) {
	is := func(other *actor) bool { return other == a }
	w.waiters, w.arrivals = slices.DeleteFunc(w.waiters, is), slices.DeleteFunc(w.arrivals, is)
	if a.back != nil {
		a.back, w.outside = nil, w.outside-1
	}
	a.has, a.waits, a.patient, a.gone = true, false, false, false
	w.holder = a
}

// arrive models an actor that wants the lock.
func (w *world) arrive(a *actor) {
	w.arrivals = append(w.arrivals, a)
	if w.holder == nil {
		w.handNext()
	}
}

// actor makes one that waits for something to do.
func (w *world) actor(task bool) *actor {
	a := &actor{name: fmt.Sprint(len(w.actors)), do: make(chan func()), task: task}
	w.actors = append(w.actors, a)
	return a
}

func (a *actor) run() {
	for f := range a.do {
		f()
	}
}

// has notes that an actor has the lock now, or is about to give it up.
func (w *world) notes(a *actor, has bool) {
	if a.got = has; has {
		w.inside++
	} else {
		w.inside--
	}
	if w.inside > 1 {
		w.t.Errorf("%d have the lock", w.inside)
	}
}

// body is the function of a task.
func (w *world) body(a *actor) func() {
	return func() {
		w.notes(a, true)
		defer w.notes(a, false)
		a.run()
	}
}

// gives has an actor that has the lock call f, which gives it up and gets it back.
func (w *world) gives(a *actor, f func() error) {
	a.do <- func() {
		w.notes(a, false)
		defer w.notes(a, true)
		defer func() {
			if p := recover(); p != nil {
				a.result = p
			}
		}()
		a.result = nil
		if err := f(); err != nil {
			a.result = err
		}
	}
}

// step takes a random step that is possible now.
func (w *world) step() string {
	switch h := w.holder; {
	case w.random.IntN(3) == 0 || h == nil:
		return w.without()
	case w.random.IntN(3) > 0:
		return w.hold(h)
	case h.task:
		w.unlock()
		if w.random.IntN(4) == 0 {
			w.expected++
			h.do <- func() { panic("test") }
			return h.name + " panics"
		}
		w.leave(h)
		return h.name + " ends"
	default:
		w.unlock()
		w.leave(h)
		return h.name + " unlocks"
	}
}

// hold takes a step that needs the lock.
func (w *world) hold(h *actor) string {
	i, set := w.random.IntN(3), w.random.IntN(2) == 0
	switch w.random.IntN(8) {
	case 0:
		w.model.flags[i] = set
		h.do <- func() { w.real.flags[i] = set }
		return fmt.Sprint(h.name, " sets ", i, " ", set)
	case 1:
		w.model.pending = true
		h.do <- func() { w.real.pending = true }
		return h.name + " has a flag set by Refresh"
	case 2:
		w.model.steps = 2
		h.do <- func() { w.real.steps = 2 }
		return h.name + " gives Advance steps"
	case 3:
		h.back = make(chan bool)
		back := h.back
		w.outside++
		w.waiters = append(w.waiters, h)
		w.unlock()
		w.gives(h, func() error {
			w.m.Unlocked(h.name, "a test", func() {
				if <-back {
					panic("outside")
				}
			})
			return nil
		})
		return h.name + " goes outside"
	case 4:
		a := w.actor(true)
		w.lenders = append(w.lenders, h)
		h.has, h.expect = false, nil
		w.hand(a)
		w.gives(h, func() error { w.m.Go(w.body(a)); return nil })
		return h.name + " begins " + a.name
	case 5:
		if len(w.log) > 150 && len(w.lenders) == 0 {
			w.ended = true
			h.do <- func() { w.m.End(errEnded) }
			return h.name + " ends it"
		}
	}
	return w.wait(h, i)
}

// wait has the holder wait.
func (w *world) wait(h *actor, i int) string {
	throws, patient := w.random.IntN(6) == 0, w.random.IntN(6) == 0
	ctx, cancel := context.WithCancelCause(context.Background())
	h.cancel, h.throws, h.patient, h.expect = cancel, throws, patient, nil
	h.condition = func() bool { return w.model.flags[i] }
	what := fmt.Sprint(h.name, " waits for ", i)
	if !patient && w.random.IntN(8) == 0 {
		cancel(errGone)
		h.expect = errGone
		what += " in vain"
	} else if w.ended && !patient {
		h.expect = errEnded
	} else if h.waits, w.waiters = true, append(w.waiters, h); w.first() == h {
		w.holder = nil
		w.hand(h)
	} else {
		w.unlock()
	}
	w.gives(h, func() error {
		condition := func() bool {
			if w.real.flags[i] && throws {
				panic("thrown")
			}
			return w.real.flags[i]
		}
		if patient {
			return w.m.Await(ctx, condition)
		}
		return w.m.WaitFor(ctx, h.name, "a test", condition)
	})
	return what
}

// first is the oldest of those who wait that may proceed.
func (w *world) first() *actor {
	for _, a := range w.waiters {
		if a.waits && w.proceeds(a) {
			return a
		}
	}
	return nil
}

// without takes a step that does not need the lock.
func (w *world) without() string {
	switch w.random.IntN(4) {
	case 0: // two ask for the lock, and the second waits for it first
		var locks [2]func()
		a := [2]*actor{w.actor(false), w.actor(false)}
		for i := range locks {
			locks[i] = w.m.Reserve()
			w.arrive(a[i])
		}
		for _, i := range []int{1, 0} {
			go a[i].run()
			a[i].do <- func() { locks[i](); w.notes(a[i], true) }
		}
		return a[0].name + " and " + a[1].name + " lock"
	case 1:
		a := w.actor(true)
		w.arrive(a)
		w.m.Post(w.body(a))
		return a.name + " begins"
	case 2:
		if a := w.one(func(a *actor) bool { return a.waits && !a.gone && a.cancel != nil }); a != nil {
			a.gone = true
			w.arrive(a)
			a.cancel(errGone)
			return a.name + " is cancelled"
		}
	default:
		if a := w.one(func(a *actor) bool { return a.back != nil && !a.gone }); a != nil {
			throws := w.random.IntN(2) == 0
			a.gone, a.expect = true, nil
			if throws {
				a.expect = "outside"
			}
			back := a.back
			w.arrive(a)
			back <- throws
			return a.name + " comes back"
		}
	}
	return ""
}

// one is an actor for which is reports true, nil for none.
func (w *world) one(is func(*actor) bool) *actor {
	var all []*actor
	for _, a := range w.actors {
		if is(a) {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[w.random.IntN(len(all))]
}

// check compares the actors with the model.
func (w *world) check() bool {
	synctest.Wait()
	for _, a := range w.actors {
		if a.got != a.has {
			w.t.Errorf("actor %s has the lock: %v", a.name, a.got)
		}
		if a.has && a.result != a.expect {
			w.t.Errorf("actor %s got %v, not %v", a.name, a.result, a.expect)
		}
	}
	if w.holder != nil {
		var names []string
		for _, a := range w.waiters {
			if !a.patient {
				names = append(names, a.name)
			}
		}
		var told []string
		for _, wait := range w.m.Waits() {
			told = append(told, wait.Who)
		}
		if strings.Join(names, " ") != strings.Join(told, " ") {
			w.t.Errorf("%v wait, not %v", told, names)
		}
	}
	if w.real != w.model || w.panics != w.expected {
		w.t.Errorf("%v with %d panics, not %v with %d", w.real, w.panics, w.model, w.expected)
	}
	return !w.t.Failed()
}

// TestModel compares a Monitor with a model of it, in random orders: the holder of the lock after each step, and the result of each wait.
func TestModel(t *testing.T) {
	for seed := range uint64(400) {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t, random: rand.New(rand.NewPCG(seed, 1))}
				w.m = New(Hooks{Refresh: w.real.refresh, Advance: w.real.advance, Panicked: func(any) { w.panics++ }})
				for len(w.log) < 200 {
					if what := w.step(); what != "" {
						w.log = append(w.log, what)
						if !w.check() {
							t.Fatal(strings.Join(w.log, "\n"))
						}
					}
				}
				w.finish()
			})
		})
		if !ok {
			return
		}
	}
}

// TestLockWaits checks that Lock waits for a lock that is held.
func TestLockWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Hooks{Refresh: func() {}, Advance: func() bool { return false }})
		m.Lock()
		locked := false
		go func() {
			m.Lock()
			locked = true
		}()
		synctest.Wait()
		require.False(t, locked)
		m.Unlock()
		synctest.Wait()
		require.True(t, locked)
	})
}

// TestCancelWhileTheConditionHolds: a wait whose context ends as it gets the lock has it once.
func TestCancelWhileTheConditionHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Hooks{Refresh: func() {}, Advance: func() bool { return false }})
		ended := map[bool]int{}
		for range 200 {
			m.Lock()
			holds := false
			ctx, cancel := context.WithCancel(t.Context())
			m.Go(func() { ended[m.WaitFor(ctx, "", "", func() bool { return holds }) == nil]++ })
			holds = true
			cancel() // wakes the wait, which seldom comes before what follows
			m.Unlock()
			synctest.Wait()
		}
		m.Lock()
		require.Equal(t, 200, ended[true]+ended[false])
		require.Empty(t, m.Waits())
	})
}

// finish closes the Monitor, and lets all actors leave at the same time.
func (w *world) finish() {
	late, closed := false, false
	require.True(w.t, w.m.Post(func() {
		w.m.End(errEnded)
		w.real.flags = [3]bool{true, true, true}
		require.True(w.t, w.m.Post(func() { late = true }))
		w.m.Close()
		require.True(w.t, late)
		closed = true
	}))
	for synctest.Wait(); !closed; synctest.Wait() {
		a := w.one(func(a *actor) bool { return a.got })
		if a == nil {
			a = w.one(func(a *actor) bool { return a.back != nil && !a.gone })
			require.NotNil(w.t, a, "nobody is left")
			a.gone = true
			a.back <- false
			continue
		}
		w.leave(a)
	}
	for _, a := range w.actors {
		require.False(w.t, a.got)
		require.True(w.t, a.back == nil || a.gone, "somebody is outside")
		if !a.task {
			close(a.do)
		}
	}
	require.Nil(w.t, w.m.Reserve())
	require.False(w.t, w.m.Post(nil))
}

// leave has an actor give the lock up for good.
func (w *world) leave(a *actor) {
	if a.task {
		close(a.do)
		return
	}
	a.do <- func() { w.notes(a, false); w.m.Unlock() }
}
