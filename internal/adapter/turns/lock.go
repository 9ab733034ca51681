package turns

import (
	"slices"
	"time"
)

// Lock is held by one at a time, in the order in which they asked for it. The zero Lock is free.
type Lock struct{ takers []*Taker }

// Taker holds a Lock, or waits for it.
type Taker struct {
	Who   string // for the user
	Since time.Time
}

// Take has t get the lock when those that asked before have released it.
func (l *Lock) Take(t *Taker) { l.takers = append(l.takers, t) }

// Release ends that t holds the lock, or waits for it.
func (l *Lock) Release(t *Taker) {
	l.takers = slices.DeleteFunc(l.takers, func(other *Taker) bool { return other == t })
}

// Holder returns the holder of the lock, nil if it is free.
func (l *Lock) Holder() *Taker {
	if len(l.takers) == 0 {
		return nil
	}
	return l.takers[0]
}
