package turns

// Queue is a Machine together with the prompts that it decides about, by their IDs. P is the type of a prompt, or of a pointer to one. Make
// it with NewQueue.
type Queue[P any] struct {
	*Machine
	open map[ID]P // accepted, without an ending
	last ID
}

// NewQueue makes a Queue. See New for the arguments.
func NewQueue[P any](newRequest func() string, act func(Action)) Queue[P] {
	return Queue[P]{Machine: New(newRequest, act), open: make(map[ID]P)}
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
