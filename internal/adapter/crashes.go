package adapter

// maxCrashes is how often in a row droid may die before the session gives up
// starting it. A turn that droid completes in between starts the count anew, and
// so does loading the session.
const maxCrashes = 3

// crashes are the ends of a session's processes that the session did not want.
type crashes struct {
	inARow int
	last   error
}

// crashed says that a process died. counted is whether that was a fault of its
// own: one that was most likely killed, as it did not stop, does not count.
func (c *crashes) crashed(err error, counted bool) {
	c.last = err
	if counted {
		c.inARow++
	}
}

// completed says that droid completed a turn, or that the user wants it to be
// tried again: the count starts anew.
func (c *crashes) completed() { c.inARow = 0 }

// any reports whether droid has crashed since it completed a turn.
func (c *crashes) any() bool { return c.inARow > 0 }

// tooMany reports whether droid is not to be started again.
func (c *crashes) tooMany() bool { return c.inARow >= maxCrashes }

// lastError is how the last process died.
func (c *crashes) lastError() error { return c.last }
