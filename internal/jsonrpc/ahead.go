package jsonrpc

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"droid-acp/internal/sys/child"
)

// maxAhead is the number of bytes to read ahead. Where the system does not report that the writer has closed its end, the end of the input
// is noticed only if at most this much precedes it.
const maxAhead = 1 << 20

// Ahead is a reader that can read on while its caller is busy, so that the end of the input is noticed early. Only one goroutine may call
// Read and Look.
type Ahead struct {
	in    io.Reader
	ended func()
	watch sync.Once // registers ended for an end beyond maxAhead
	began time.Time
	reads atomic.Int64 // start of the pending read, in nanoseconds after began; 0 without one

	mu     sync.Mutex
	more   *sync.Cond
	held   []byte // data read ahead
	err    error  // error after it
	looks  bool   // a goroutine is reading ahead
	wanted bool   // it should continue
}

// NewAhead returns a reader of in. It does not read before Read or Look is called. It calls ended at most once, when Look has noticed that
// the peer will write nothing more.
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

// Silent returns how long the current read has been waiting for data, or 0 if there is none.
func (a *Ahead) Silent() time.Duration {
	since := a.reads.Load()
	if since == 0 {
		return 0
	}
	return time.Since(a.began) - time.Duration(since)
}

// Look starts reading ahead in another goroutine, up to maxAhead, until Read is called.
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

// step reads a piece ahead and reports whether to continue.
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
