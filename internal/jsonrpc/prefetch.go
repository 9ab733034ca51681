package jsonrpc

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"droid-acp/internal/sys/subprocess"
)

// maxPrefetch is the number of bytes to read ahead. Where the system does not report that the writer has closed its end, the end of the input
// is noticed only if at most this much precedes it.
const maxPrefetch = 1 << 20

// PrefetchReader is a reader that can read on while its caller is busy, so that the end of the input is noticed early. Only one goroutine
// may call Read; Prefetch may be called by any.
type PrefetchReader struct {
	in    io.Reader
	ended func()
	watch sync.Once // registers ended for an end beyond maxPrefetch
	began time.Time
	reads atomic.Int64 // start of the pending read, in nanoseconds after began; 0 without one

	mu          sync.Mutex
	changed     *sync.Cond
	reading     bool   // a call of Read waits for in
	buffered    []byte // data read ahead
	err         error  // error after it
	prefetching bool   // a goroutine is reading ahead
	wanted      bool   // it should continue
}

// NewPrefetchReader returns a reader of in. It does not read before Read or Prefetch is called. It calls ended at most once, when Prefetch
// has noticed that the peer will write nothing more. Beyond maxPrefetch it notices that of a file alone, or of a reader with a method File
// that returns the one it reads.
func NewPrefetchReader(in io.Reader, ended func()) *PrefetchReader {
	a := &PrefetchReader{in: in, ended: sync.OnceFunc(ended), began: time.Now()}
	a.changed = sync.NewCond(&a.mu)
	return a
}

func (a *PrefetchReader) Read(p []byte) (int, error) {
	a.mu.Lock()
	a.wanted = false
	for a.prefetching && len(a.buffered) == 0 {
		a.changed.Wait()
	}
	if len(a.buffered) > 0 || a.err != nil {
		defer a.mu.Unlock()
		n := copy(p, a.buffered)
		if a.buffered = a.buffered[n:]; n > 0 {
			return n, nil
		}
		a.buffered = nil
		return 0, a.err
	}
	a.reading = true
	a.mu.Unlock()
	n, err := a.read(p)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reading = false
	return n, err
}

func (a *PrefetchReader) read(p []byte) (int, error) {
	a.reads.Store(int64(time.Since(a.began)) + 1)
	defer a.reads.Store(0)
	return a.in.Read(p)
}

// IdleTime returns how long the current read has been waiting for data, or 0 if there is none.
func (a *PrefetchReader) IdleTime() time.Duration {
	since := a.reads.Load()
	if since == 0 {
		return 0
	}
	return time.Since(a.began) - time.Duration(since)
}

// Prefetch starts reading ahead in another goroutine, up to maxPrefetch, until Read is called. A call of Read that waits for data notices the
// end of the input itself.
func (a *PrefetchReader) Prefetch() {
	f, ok := a.in.(*os.File)
	if wraps, is := a.in.(interface{ File() *os.File }); is { // nil if there is none
		f = wraps.File()
		ok = f != nil
	}
	if ok {
		a.watch.Do(func() { subprocess.OnWriterGone(f, a.ended) })
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.wanted = !a.reading; a.reading || a.prefetching || a.err != nil || len(a.buffered) >= maxPrefetch {
		return
	}
	a.prefetching = true
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
func (a *PrefetchReader) step(piece []byte) bool {
	n, err := a.read(piece)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.buffered = append(a.buffered, piece[:n]...)
	a.err = err
	a.prefetching = err == nil && a.wanted && len(a.buffered) < maxPrefetch
	a.changed.Broadcast()
	return a.prefetching
}
