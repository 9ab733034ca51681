package turns

import "slices"

// Queue is a Machine with the prompts that it decides about, and what does what it wants. P is
// what has a prompt, or points to that. Make it with NewQueue.
type Queue[P any] struct {
	*Machine
	open    map[ID]P // accepted, without an ending
	last    ID
	stopped P // see KeepStopped

	act     func(Action)
	actions []Action // that the machine wants, in order
	acting  bool     // Do is at work on them
}

// NewQueue is a Queue for m. act does one thing that the machine wants.
func NewQueue[P any](m *Machine, act func(Action)) Queue[P] {
	return Queue[P]{Machine: m, open: make(map[ID]P), act: act}
}

// Do does what the machine wants, in order. What follows from that is done after it.
func (q *Queue[P]) Do(actions []Action) {
	q.actions = append(q.actions, actions...)
	if q.acting {
		return
	}
	q.acting = true
	defer func() { q.acting = false }()
	for len(q.actions) > 0 {
		a := q.actions[0]
		q.actions = slices.Delete(q.actions, 0, 1)
		q.act(a)
	}
}

// Add gives a prompt its id.
func (q *Queue[P]) Add(p P) ID {
	q.last++
	q.open[q.last] = p
	return q.last
}

// Get is the prompt with an id.
func (q *Queue[P]) Get(id ID) P { return q.open[id] }

// Take is the prompt with an id, which has ended.
func (q *Queue[P]) Take(id ID) P {
	p := q.open[id]
	delete(q.open, id)
	return p
}

// KeepStopped keeps a prompt that its user stopped until the next one is taken.
func (q *Queue[P]) KeepStopped(p P) { q.stopped = p }

// TakeStopped hands that prompt out, the zero value for none.
func (q *Queue[P]) TakeStopped() (p P) {
	p, q.stopped = q.stopped, p
	return p
}

// Of is the prompt that droid has under a request id, the zero value for none.
func (q *Queue[P]) Of(request string) (p P) {
	if id, ok := q.IDOf(request); ok {
		p = q.open[id]
	}
	return p
}

// Find is a prompt for which is reports true, the zero value for none.
func (q *Queue[P]) Find(is func(P) bool) (found P) {
	for _, p := range q.open {
		if is(p) {
			return p
		}
	}
	return found
}
