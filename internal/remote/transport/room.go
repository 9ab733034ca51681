package transport

// fullAt is how much waits for a client that reads, in bytes, when what makes more is to
// wait, too.
const fullAt = 2 << 20

// room tells those who make messages when there is room again. The connection's lock
// guards it.
type room struct{ again chan struct{} }

// full is nil while there is room, else a channel that look closes.
func (r *room) full(waiting int, over bool) <-chan struct{} {
	if over || waiting < fullAt {
		return nil
	}
	if r.again == nil {
		r.again = make(chan struct{})
	}
	return r.again
}

// look is called after something was written, and at the end.
func (r *room) look(waiting int, over bool) {
	if r.again != nil && (over || waiting < fullAt) {
		close(r.again)
		r.again = nil
	}
}
