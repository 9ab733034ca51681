package jsonrpc

import (
	"io"
	"sync"
)

// maxAhead is how many bytes are read ahead: more than a pipe or a socket holds of a peer that has gone.
const maxAhead = 1 << 20

// Ahead reads an input, and on while its reader is held up, so that the input's end is noticed behind what is not yet
// wanted. Read is for one goroutine, which may call Look.
type Ahead struct {
	in io.Reader

	mu     sync.Mutex
	more   *sync.Cond
	held   []byte // what was read
	err    error  // and behind it
	looks  bool   // a goroutine reads
	wanted bool   // that it goes on
}

// NewAhead makes one. It reads nothing before Read or Look.
func NewAhead(in io.Reader) *Ahead {
	a := &Ahead{in: in}
	a.more = sync.NewCond(&a.mu)
	return a
}

func (a *Ahead) Read(p []byte) (int, error) {
	a.mu.Lock()
	a.wanted = false
	for a.looks && len(a.held) == 0 {
		a.more.Wait()
	}
	if len(a.held) > 0 || a.err != nil {
		defer a.mu.Unlock()
		n := copy(p, a.held)
		if a.held = a.held[n:]; n > 0 {
			return n, nil
		}
		a.held = nil
		return 0, a.err
	}
	a.mu.Unlock()
	return a.in.Read(p)
}

// Look reads beside the caller, up to maxAhead, until Read is called. ended is called at the input's end.
func (a *Ahead) Look(ended func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wanted = true
	if a.looks || a.err != nil || len(a.held) >= maxAhead {
		return
	}
	a.looks = true
	go func() {
		for piece := make([]byte, readBufferSize); a.step(piece); {
		}
		a.mu.Lock()
		over := a.err != nil
		a.mu.Unlock()
		if over {
			ended()
		}
	}()
}

// step reads a piece ahead. It reports whether it is to go on.
func (a *Ahead) step(piece []byte) bool {
	n, err := a.in.Read(piece)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held = append(a.held, piece[:n]...)
	a.err = err
	a.looks = err == nil && a.wanted && len(a.held) < maxAhead
	a.more.Broadcast()
	return a.looks
}
