package jsonrpc

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"droid-acp/internal/sys/child"
)

// maxAhead is how many bytes are read ahead. Where the system cannot say that the peer has gone, its end is noticed if no
// more than this is before it.
const maxAhead = 1 << 20

// Ahead reads an input, and on while its reader is held up, so that the input's end is noticed behind what is not yet
// wanted. Read is for one goroutine, which may call Look.
type Ahead struct {
	in    io.Reader
	ended func()
	watch sync.Once // for the end behind more than maxAhead
	began time.Time
	reads atomic.Int64 // since when a read gets nothing, in nanoseconds after began; 0 while there is none

	mu     sync.Mutex
	more   *sync.Cond
	held   []byte // what was read
	err    error  // and behind it
	looks  bool   // a goroutine reads
	wanted bool   // that it goes on
}

// NewAhead makes one. It reads nothing before Read or Look. It calls ended at most once, when Look has found that the
// peer writes nothing more.
func NewAhead(in io.Reader, ended func()) *Ahead {
	a := &Ahead{in: in, ended: sync.OnceFunc(ended), began: time.Now()}
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
	return a.read(p)
}

func (a *Ahead) read(p []byte) (int, error) {
	a.reads.Store(int64(time.Since(a.began)) + 1)
	defer a.reads.Store(0)
	return a.in.Read(p)
}

// Silent is how long the input has been read without anything coming. It is 0 while nobody reads it.
func (a *Ahead) Silent() time.Duration {
	since := a.reads.Load()
	if since == 0 {
		return 0
	}
	return time.Since(a.began) - time.Duration(since)
}

// Look reads beside the caller, up to maxAhead, until Read is called.
func (a *Ahead) Look() {
	if f, ok := a.in.(*os.File); ok {
		a.watch.Do(func() { child.OnWriterGone(f, a.ended) })
	}
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
			a.ended()
		}
	}()
}

// step reads a piece ahead. It reports whether it is to go on.
func (a *Ahead) step(piece []byte) bool {
	n, err := a.read(piece)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held = append(a.held, piece[:n]...)
	a.err = err
	a.looks = err == nil && a.wanted && len(a.held) < maxAhead
	a.more.Broadcast()
	return a.looks
}
