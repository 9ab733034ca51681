package transport

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// halfOpen are the connections of an HTTP server that are no WebSockets, or not yet: those that send no request, or send it slowly, must
// not use up the descriptors.
type halfOpen struct {
	mu  sync.Mutex
	all []net.Conn // the oldest first
}

// update implements http.Server.ConnState.
func (o *halfOpen) update(conn net.Conn, state http.ConnState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch state {
	case http.StateNew:
		if len(o.all) >= maxHalfOpen {
			_ = o.all[0].Close() // the server reports its end
			o.all = o.all[1:]
		}
		o.all = append(o.all, conn)
	case http.StateHijacked, http.StateClosed:
		o.all = slices.DeleteFunc(o.all, func(c net.Conn) bool { return c == conn })
	}
}
