package session_test

import (
	"sync"

	"droid-acp/internal/sys/files"
)

// hanging has one call of the disk hang, from a moment on, until it is revived.
type hanging struct {
	revived chan struct{}

	mu      sync.Mutex
	call    files.CallName
	reached bool
	over    sync.Once
}

func (h *hanging) revive() { h.over.Do(func() { close(h.revived) }) }

func (h *hanging) hang(call files.CallName) {
	h.mu.Lock()
	hangs := call == h.call
	h.reached = h.reached || hangs
	h.mu.Unlock()
	if hangs {
		<-h.revived
	}
}

func (h *hanging) begin(call files.CallName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.call = call
}

func (h *hanging) wasReached() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reached
}
