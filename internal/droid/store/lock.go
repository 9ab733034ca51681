package store

import "time"

// Lock is what somebody holds who has one session open after the other. It is taken
// elsewhere (Store.MarkOpen), since the disk may take its time. It is not safe for concurrent
// use; the zero value locks nothing.
type Lock struct {
	id      string    // "" for none
	release func()    // nil until it is held
	marked  time.Time // when somebody noted last that the session is open, as far as is known
	looked  bool      // it is known whether others had the session open
	others  bool      // they had
}

// Is reports whether this is the session that is locked, or is to be.
func (l *Lock) Is(id string) bool { return l.id == id }

// Begin notes that this session is to be locked from now on, "" for none. It returns what
// releases the one before, nil for none.
func (l *Lock) Begin(id string) (before func()) {
	before = l.release
	*l = Lock{id: id}
	return before
}

// Looked notes whether another process had the session open as it was looked for.
func (l *Lock) Looked(id string, others bool) {
	if l.id == id {
		l.looked, l.others = true, l.others || others
	}
}

// Others reports whether another process had the session open when that was seen last; known is false while it is being
// looked for.
func (l *Lock) Others() (others, known bool) { return l.others, l.looked || l.id == "" }

// Held notes that the session is locked until release is called, and when that was noted for others
// (Store.Marked). It returns release if the session is no longer to be locked.
func (l *Lock) Held(id string, release func(), marked time.Time) (needless func()) {
	if l.id != id || l.release != nil {
		return release
	}
	l.release, l.marked = release, marked
	return nil
}

// Joined takes when somebody last noted that the session is open, and reports whether another process
// has done so since it was asked before.
func (l *Lock) Joined(id string, marked time.Time) bool {
	if l.id != id || l.release == nil || marked.IsZero() || marked.Equal(l.marked) {
		return false
	}
	l.marked, l.others = marked, true
	return true
}
