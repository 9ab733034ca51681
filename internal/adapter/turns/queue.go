package turns

import (
	"slices"
	"time"
)

// Queue is a Machine with the prompts that it decides about, and with the function that carries out its actions. P is the type of a
// prompt, or of a pointer to one. Make it with NewQueue.
type Queue[P any] struct {
	*Machine
	open    map[ID]P // accepted, without an ending
	last    ID
	stopped P // see KeepStopped

	act     func(Action)
	actions []Action // that the machine wants, in order
	acting  bool     // Do is at work on them
}

// NewQueue returns a Queue for m. act carries out one action; it must not block, nor release the lock that guards the Queue.
func NewQueue[P any](m *Machine, act func(Action)) Queue[P] {
	return Queue[P]{Machine: m, open: make(map[ID]P), act: act}
}

// Do carries out actions, in order. Actions that follow from one of them are carried out after these: a call of Do within act only
// appends, also one in a goroutine to which act lends the lock.
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

// Events of prompts and changes: each calls the method of the Machine with its name, and carries out the actions. Join is the Machine's own:
// its caller carries out the actions. ProcessExited, Folded, Keep and ResetCrashes lead to none.

func (q *Queue[P]) Shown()                                { q.Do(q.Machine.Shown()) }
func (q *Queue[P]) OutputRead(why error)                  { q.Do(q.Machine.OutputRead(why)) }
func (q *Queue[P]) SetSteering(on bool)                   { q.Do(q.Machine.SetSteering(on)) }
func (q *Queue[P]) Started(now time.Time, request string) { q.Do(q.Machine.Started(now, request)) }
func (q *Queue[P]) Cancel(now time.Time)                  { q.Do(q.Machine.Cancel(now)) }
func (q *Queue[P]) StopUnprompted()                       { q.Do(q.Machine.StopUnprompted()) }
func (q *Queue[P]) CancelOne(now time.Time, id ID)        { q.Do(q.Machine.CancelOne(now, id)) }
func (q *Queue[P]) ConcurrentTurn(now time.Time, request string) {
	q.Do(q.Machine.ConcurrentTurn(now, request))
}
func (q *Queue[P]) Tick(now time.Time)                       { q.Do(q.Machine.Tick(now)) }
func (q *Queue[P]) Accept(id ID, kind Kind)                  { q.Do(q.Machine.Accept(id, kind)) }
func (q *Queue[P]) Ready(id ID)                              { q.Do(q.Machine.Ready(id)) }
func (q *Queue[P]) Taken(now time.Time, id ID)               { q.Do(q.Machine.Taken(now, id)) }
func (q *Queue[P]) Rejected(now time.Time, id ID, why error) { q.Do(q.Machine.Rejected(now, id, why)) }
func (q *Queue[P]) Withdrawn(request string)                 { q.Do(q.Machine.Withdrawn(request)) }
func (q *Queue[P]) Fail(id ID, why error)                    { q.Do(q.Machine.Fail(id, why)) }
func (q *Queue[P]) FailRunning(why error)                    { q.Do(q.Machine.FailRunning(why)) }
func (q *Queue[P]) Complete(id ID)                           { q.Do(q.Machine.Complete(id)) }
func (q *Queue[P]) InterruptDone()                           { q.Do(q.Machine.InterruptDone()) }
func (q *Queue[P]) SetPaused(paused bool)                    { q.Do(q.Machine.SetPaused(paused)) }
func (q *Queue[P]) Close(now time.Time)                      { q.Do(q.Machine.Close(now)) }
func (q *Queue[P]) Finish()                                  { q.Do(q.Machine.Finish()) }
func (q *Queue[P]) FinishChange(c *Change, failed error)     { q.Do(q.Machine.FinishChange(c, failed)) }
func (q *Queue[P]) FailSince(id ID, why error)               { q.Do(q.Machine.FailSince(id, why)) }
func (q *Queue[P]) LoseChanges(why error)                    { q.Do(q.Machine.LoseChanges(why)) }

// Ended says that droid ended the prompt with this request id, see Machine.Ended.
func (q *Queue[P]) Ended(request string, how How, why error) {
	_, actions := q.Machine.Ended(request, how, why)
	q.Do(actions)
}

// Dropped says that droid threw a prompt away, see Machine.Dropped.
func (q *Queue[P]) Dropped(request string) {
	_, actions := q.Machine.Dropped(request)
	q.Do(actions)
}

// StartNext starts the first waiting prompt, see Machine.StartNext. It reports whether anything came of that.
func (q *Queue[P]) StartNext() bool {
	actions := q.Machine.StartNext()
	q.Do(actions)
	return len(actions) > 0
}

// Change queues a change, see Machine.Change.
func (q *Queue[P]) Change(of Scope) *Change {
	c, actions := q.Machine.Change(of)
	q.Do(actions)
	return c
}

// Add adds a prompt and returns its ID.
func (q *Queue[P]) Add(p P) ID {
	q.last++
	q.open[q.last] = p
	return q.last
}

// Newest returns the ID that Add gave out last.
func (q *Queue[P]) Newest() ID { return q.last }

// Get returns the prompt with an id, the zero value for none.
func (q *Queue[P]) Get(id ID) P { return q.open[id] }

// Remove removes the prompt with an id, which has ended, and returns it.
func (q *Queue[P]) Remove(id ID) P {
	p := q.open[id]
	delete(q.open, id)
	return p
}

// KeepStopped keeps a prompt that its user stopped until the next one is taken.
func (q *Queue[P]) KeepStopped(p P) { q.stopped = p }

// TakeStopped removes that prompt and returns it, the zero value for none.
func (q *Queue[P]) TakeStopped() (p P) {
	p, q.stopped = q.stopped, p
	return p
}

// Of returns the prompt that droid has under a request id, the zero value for none.
func (q *Queue[P]) Of(request string) (p P) {
	if id, ok := q.IDOf(request); ok {
		p = q.open[id]
	}
	return p
}

// Find returns a prompt for which is reports true, the zero value for none.
func (q *Queue[P]) Find(is func(P) bool) (found P) {
	for _, p := range q.open {
		if is(p) {
			return p
		}
	}
	return found
}
