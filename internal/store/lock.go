package store

// Lock is what somebody holds who has one session open after the other. It is taken
// elsewhere (Store.MarkOpen), since the disk may take its time. It is not safe for concurrent
// use; the zero value locks nothing.
type Lock struct {
	id      string // "" for none
	release func() // nil until it is held
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

// Held notes that the session is locked until release is called. It returns release if the
// session is no longer to be locked.
func (l *Lock) Held(id string, release func()) (needless func()) {
	if l.id != id || l.release != nil {
		return release
	}
	l.release = release
	return nil
}
