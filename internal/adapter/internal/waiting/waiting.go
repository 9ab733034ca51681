// Package waiting has those who wait for something in a session, in the order in which
// they came. Each says what it needs; whoever has the Line asks it, after all that happens,
// who may go now, and tells on request who waits for what.
package waiting

import (
	"fmt"
	"slices"
	"time"

	"droid-acp/internal/adapter/internal/owner"
)

// Need is what somebody waits for, in words for the user.
type Need string

// Waiter is one who waits.
type Waiter struct {
	Name  string // who, in words for the user
	Needs []Need // what must be there
	// Takes is a need that one has for itself alone, from when it goes until it leaves the
	// Line, "" for none. Those who take the same go in the order in which they came.
	Takes Need

	ready  func() bool // of its only need, nil for one that the Line is told of
	task   *owner.Task // that waits so
	pauses bool        // it does; else it is about to, or has gone
	since  time.Time
}

// Line is those who wait. The zero value has none. It is not safe for concurrent use.
type Line struct {
	waiting []*Waiter
	takers  []*Waiter // have what they take
}

// Add puts w at the end of the Line.
func (l *Line) Add(now time.Time, w *Waiter) {
	w.since = now
	l.waiting = append(l.waiting, w)
}

// Next returns the first one that has all it needs, and nil when there is none. It waits no
// longer; who takes something has that until Leave. there tells what is there.
func (l *Line) Next(there func(Need) bool) *Waiter {
	for _, w := range l.waiting {
		if l.May(w, there) {
			l.waiting = slices.DeleteFunc(l.waiting, func(other *Waiter) bool { return other == w })
			if w.Takes != "" {
				l.takers = append(l.takers, w)
			}
			return w
		}
	}
	return nil
}

// May reports whether w, which waits, has all it needs.
func (l *Line) May(w *Waiter, there func(Need) bool) bool {
	if w.Takes != "" {
		for _, before := range slices.Concat(l.takers, l.waiting) {
			if before == w {
				break
			}
			if before.Takes == w.Takes {
				return false
			}
		}
	}
	if w.ready != nil {
		return w.ready()
	}
	return !slices.ContainsFunc(w.Needs, func(n Need) bool { return !there(n) })
}

// Waiting reports whether w has not gone.
func (l *Line) Waiting(w *Waiter) bool { return slices.Contains(l.waiting, w) }

// Leave takes w out of the Line, whether it waits or has taken something.
func (l *Line) Leave(w *Waiter) {
	is := func(other *Waiter) bool { return other == w }
	l.waiting, l.takers = slices.DeleteFunc(l.waiting, is), slices.DeleteFunc(l.takers, is)
}

// Wanted reports whether somebody has taken something, or waits to take it.
func (l *Line) Wanted(n Need) bool {
	takes := func(w *Waiter) bool { return w.Takes == n }
	return slices.ContainsFunc(l.takers, takes) || slices.ContainsFunc(l.waiting, takes)
}

// Tell says who has taken something, and who waits for what, and since when they are there, a
// line each.
func (l *Line) Tell(now time.Time, there func(Need) bool) (lines []string) {
	for _, w := range l.takers {
		lines = append(lines, fmt.Sprintf("%s is under way, asked for %v ago", w.Name, now.Sub(w.since).Round(time.Second)))
	}
	for _, w := range l.waiting {
		missing := w.Takes
		if i := slices.IndexFunc(w.Needs, func(n Need) bool { return w.ready != nil || !there(n) }); i >= 0 {
			missing = w.Needs[i]
		}
		lines = append(lines, fmt.Sprintf("%s waits for %s since %v", w.Name, missing, now.Sub(w.since).Round(time.Second)))
	}
	return lines
}
