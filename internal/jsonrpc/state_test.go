package jsonrpc

import (
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// machine has the methods of state that a connection uses.
type machine interface {
	enqueue(item)
	setEnded()
	isFull() bool
	next(room bool) (item, bool)
	releaseNext(*Call)
	isOver() bool
	markAnswered(*Response) bool
	withID(key string) []*Response
	addPending(*Pending) bool
	removePending(key string) *Pending
	stop() []*Pending
	check() error
}

// model is the same in plain lists.
type model struct {
	waiting        []item
	holder         *Call
	calls          []*Call     // that took effect
	open, answered []*Response // requests that were read
	asked          []*Pending
	ended, stopped bool
	serial         int
}

// steps returns the number of steps of the property test, or DROID_ACP_STEPS.
func steps(t *testing.T) int {
	n := 100_000
	if text := os.Getenv("DROID_ACP_STEPS"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	return n
}

// TestStateHoldsInAnyOrder runs lines, answers, cancels and ends in random orders, and compares each step with the model.
func TestStateHoldsInAnyOrder(t *testing.T) {
	seed := rand.Int63()
	require.NoError(t, drive(func(s *state) machine { return s }, steps(t), rand.New(rand.NewSource(seed))), "seed %d", seed)
}

// drive makes random steps with machines, a new one after each stop, and returns the first difference from the model.
func drive(build func(*state) machine, steps int, random *rand.Rand) error {
	var m machine
	var o *model
	for n := range steps {
		if m == nil || o.stopped && random.Intn(20) == 0 {
			s := newState()
			m, o = build(&s), new(model)
		}
		if err := o.step(m, random); err != nil {
			return fmt.Errorf("step %d: %w", n, err)
		}
		if err := m.check(); err != nil {
			return fmt.Errorf("step %d: %w", n, err)
		}
	}
	return nil
}

var keys = []string{"1", "2", `"1`}

func (o *model) step(m machine, random *rand.Rand) error {
	key := keys[random.Intn(len(keys))]
	switch random.Intn(40) {
	default:
		o.arrive(m, random, key)
	case 10, 11, 12, 13, 14, 15, 16, 17:
		return o.next(m, random.Intn(3) > 0)
	case 18, 19, 20, 21, 22:
		if len(o.calls) > 0 {
			call := o.calls[len(o.calls)-1-random.Intn(min(3, len(o.calls)))]
			m.releaseNext(call)
			if o.holder == call {
				o.holder = nil
			}
		}
	case 23, 24, 25, 26, 27, 28, 29:
		return o.answer(m, random)
	case 30, 31:
		var want []*Response
		for _, r := range o.open {
			if r.key == key {
				want = append(want, r)
			}
		}
		return same("requests with the id", want, m.withID(key))
	case 32, 33, 34:
		p := &Pending{key: strconv.Itoa(o.serial)}
		o.serial++
		if got := m.addPending(p); got == o.stopped {
			return fmt.Errorf("asked: %v", got)
		} else if got {
			o.asked = append(o.asked, p)
		}
	case 35, 36, 37:
		return o.settle(m, random)
	case 38:
		if random.Intn(10) == 0 {
			m.setEnded()
			o.ended = true
		}
	case 39:
		if random.Intn(30) == 0 {
			return o.stop(m)
		}
	}
	size := 0
	for _, it := range o.waiting {
		size += it.size + itemCost
	}
	if got := m.isFull(); got != (size >= maxWaiting && !o.stopped) {
		return fmt.Errorf("full: %v with %d bytes", got, size)
	}
	if got := m.isOver(); got != (o.ended && len(o.waiting) == 0 && o.holder == nil) {
		return fmt.Errorf("over: %v", got)
	}
	return nil
}

func (o *model) arrive(m machine, random *rand.Rand, key string) {
	if o.ended {
		return
	}
	o.serial++
	it := item{size: random.Intn(maxWaiting / 20), frame: frame{JSONRPC: strconv.Itoa(o.serial)}}
	switch random.Intn(4) {
	case 0:
		it.rejection = new(Error)
	case 1:
		it.call = &Call{Method: "notification"}
	case 2, 3:
		it.call = &Call{Response: &Response{key: key}}
	}
	m.enqueue(it)
	if o.stopped {
		return
	}
	o.waiting = append(o.waiting, it)
	if it.isAnswered() && it.call != nil {
		o.open = append(o.open, it.call.Response)
	}
}

func (o *model) next(m machine, room bool) error {
	want := len(o.waiting) > 0 && o.holder == nil
	want = want && (room || o.waiting[0].rejection == nil && (o.waiting[0].call == nil || o.waiting[0].call.Response == nil))
	it, ok := m.next(room)
	switch {
	case ok != want:
		return fmt.Errorf("next: %v, of %d waiting, behind %v, room %v", ok, len(o.waiting), o.holder, room)
	case ok && it.JSONRPC != o.waiting[0].JSONRPC:
		return fmt.Errorf("next: %s before %s", it.JSONRPC, o.waiting[0].JSONRPC)
	case ok:
		o.holder, o.waiting = it.call, o.waiting[1:]
		if it.call != nil {
			o.calls = append(o.calls, it.call)
		}
	}
	return nil
}

// answer gives a request that took effect its response, or one that has it a second.
func (o *model) answer(m machine, random *rand.Rand) error {
	var of []*Response
	for _, c := range o.calls[max(0, len(o.calls)-10):] {
		if c.Response != nil {
			of = append(of, c.Response)
		}
	}
	if len(of) == 0 {
		return nil
	}
	r := of[random.Intn(len(of))]
	want := !slices.Contains(o.answered, r)
	if got := m.markAnswered(r); got != want {
		return fmt.Errorf("answered: %v", got)
	}
	if want {
		o.answered = append(o.answered, r)
		o.open = slices.DeleteFunc(o.open, func(other *Response) bool { return other == r })
	}
	return nil
}

// settle takes an answer to one of our requests, or to none.
func (o *model) settle(m machine, random *rand.Rand) error {
	key := strconv.Itoa(random.Intn(o.serial + 1))
	if len(o.asked) > 0 && random.Intn(3) > 0 {
		key = o.asked[random.Intn(len(o.asked))].key
	}
	var want *Pending
	if i := slices.IndexFunc(o.asked, func(p *Pending) bool { return p.key == key }); i >= 0 {
		want = o.asked[i]
		o.asked = slices.Delete(o.asked, i, i+1)
	}
	if got := m.removePending(key); got != want {
		return fmt.Errorf("settled %s: %v", key, got)
	}
	return nil
}

func (o *model) stop(m machine) error {
	lost := m.stop()
	if len(lost) != len(o.asked) {
		return fmt.Errorf("%d of %d requests are told of the end", len(lost), len(o.asked))
	}
	for _, it := range o.waiting {
		if it.call != nil {
			o.open = slices.DeleteFunc(o.open, func(r *Response) bool { return r == it.call.Response })
		}
	}
	o.waiting, o.asked, o.stopped = nil, nil, true
	for _, key := range keys {
		for _, r := range m.withID(key) {
			if !slices.Contains(o.open, r) {
				return fmt.Errorf("a request that nobody will answer is waited for")
			}
		}
	}
	return nil
}

func same(what string, want, got []*Response) error {
	if !slices.Equal(want, got) {
		return fmt.Errorf("%s: %d, want %d", what, len(got), len(want))
	}
	return nil
}

// Machines that are wrong in one thing each.
type (
	ignoresOrder       struct{ *state }
	ignoresRoom        struct{ *state }
	holdsCancels       struct{ *state }
	takesTheLast       struct{ *state }
	losesSize          struct{ *state }
	orderedByAny       struct{ *state }
	orderedByNone      struct{ *state }
	answersTwice       struct{ *state }
	answersTheFirst    struct{ *state }
	cancelsOne         struct{ *state }
	settlesTwice       struct{ *state }
	asksWhenStopped    struct{ *state }
	tellsNobody        struct{ *state }
	waitsForTheDropped struct{ *state }
	takesWhenStopped   struct{ *state }
	overBesideAHolder  struct{ *state }
	overTooEarly       struct{ *state }
	neverFull          struct{ *state }
)

func (m ignoresOrder) next(room bool) (item, bool) { m.current = nil; return m.state.next(room) }
func (m ignoresRoom) next(bool) (item, bool)       { return m.state.next(true) }
func (m holdsCancels) next(room bool) (item, bool) {
	if !room {
		return item{}, false
	}
	return m.state.next(true)
}
func (m takesTheLast) next(room bool) (item, bool) {
	slices.Reverse(m.waiting)
	defer func() { slices.Reverse(m.waiting) }()
	return m.state.next(room)
}
func (m losesSize) next(room bool) (item, bool) {
	before := m.size
	it, ok := m.state.next(room)
	m.size = before
	return it, ok
}
func (m orderedByAny) releaseNext(*Call)             { m.current = nil }
func (m orderedByNone) releaseNext(*Call)            {}
func (m answersTwice) markAnswered(r *Response) bool { m.state.markAnswered(r); return true }
func (m answersTheFirst) markAnswered(r *Response) bool {
	if same := m.requests[r.key]; len(same) > 0 && slices.Contains(same, r) {
		return m.state.markAnswered(same[0])
	}
	return false
}
func (m cancelsOne) withID(key string) []*Response {
	return m.state.withID(key)[:min(1, len(m.requests[key]))]
}
func (m settlesTwice) removePending(key string) *Pending { return m.pending[key] }
func (m asksWhenStopped) addPending(p *Pending) bool     { m.pending[p.key] = p; return true }
func (m tellsNobody) stop() []*Pending                   { m.state.stop(); return nil }
func (m waitsForTheDropped) stop() []*Pending {
	m.waiting = nil
	return m.state.stop()
}
func (m takesWhenStopped) enqueue(it item) {
	m.stopped = false
	m.state.enqueue(it)
}
func (m overBesideAHolder) isOver() bool { return m.ended && len(m.waiting) == 0 }
func (m overTooEarly) isOver() bool      { return m.ended && m.current == nil }
func (m neverFull) isFull() bool         { return false }

// TestCheckDetectsBrokenStates checks that the property test finds faults.
func TestCheckDetectsBrokenStates(t *testing.T) {
	for _, build := range []func(*state) machine{
		func(s *state) machine { return ignoresOrder{s} },
		func(s *state) machine { return ignoresRoom{s} },
		func(s *state) machine { return holdsCancels{s} },
		func(s *state) machine { return takesTheLast{s} },
		func(s *state) machine { return losesSize{s} },
		func(s *state) machine { return orderedByAny{s} },
		func(s *state) machine { return orderedByNone{s} },
		func(s *state) machine { return answersTwice{s} },
		func(s *state) machine { return answersTheFirst{s} },
		func(s *state) machine { return cancelsOne{s} },
		func(s *state) machine { return settlesTwice{s} },
		func(s *state) machine { return asksWhenStopped{s} },
		func(s *state) machine { return tellsNobody{s} },
		func(s *state) machine { return waitsForTheDropped{s} },
		func(s *state) machine { return takesWhenStopped{s} },
		func(s *state) machine { return overBesideAHolder{s} },
		func(s *state) machine { return overTooEarly{s} },
		func(s *state) machine { return neverFull{s} },
	} {
		require.Error(t, drive(build, 20_000, rand.New(rand.NewSource(1))), "%T", build(nil))
	}
}
