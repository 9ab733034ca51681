package trace

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"droid-acp/internal/droid/redact"
)

const (
	// maxLine is how many bytes a recorded line may have. droid's have several MB.
	maxLine = 16 << 20
	// maxWaiting is how many bytes of lines wait while others, no more, are being written. Further ones are lost, and counted.
	maxWaiting = 64 << 20
	// closeTime is how long Close waits for the disk.
	closeTime = 2 * time.Second
	// MaxFile is how many bytes a file may have; there is one older one.
	MaxFile = 64 << 20
)

// Recorder writes records. Its callers never wait: a goroutine redacts lines and writes them.
type Recorder struct {
	to      io.Writer
	secrets *redact.Redactor
	failed  func(error)
	wake    chan struct{} // has a token while there is work
	done    chan struct{} // closed when the last record is written

	unwritten int  // lines that could not be written since one could; of run alone
	reported  bool // a failure was reported; of run alone

	mu      sync.Mutex
	waiting []entry
	size    int // bytes of waiting
	lost    int // lines since waiting was last taken
	closed  bool
}

// entry is a record whose line is not redacted yet.
type entry struct {
	record Record
	line   []byte
}

// NewRecorder returns a Recorder that writes to w. The first failure to write is reported to failed.
func NewRecorder(w io.Writer, secrets *redact.Redactor, failed func(error)) *Recorder {
	r := &Recorder{to: w, secrets: secrets, failed: failed, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go r.run()
	return r
}

// NewHead returns the first line of a file.
func NewHead(version string) []byte {
	line, err := json.Marshal(Head{Format: 1, About: About, Time: time.Now(), Agent: os.Getpid(), Version: version, System: runtime.GOOS + "/" + runtime.GOARCH})
	if err != nil {
		return nil // it has only strings and numbers
	}
	return append(line, '\n')
}

func (r *Recorder) add(e entry) {
	e.record.Agent = os.Getpid()
	r.mu.Lock()
	defer r.mu.Unlock()
	e.record.Time = time.Now() // in the order of the queue
	if r.closed {
		return
	}
	// After a line was lost, later ones are lost until the others are taken: so the trace shows where lines are missing.
	if r.lost > 0 || r.size+len(e.line) > maxWaiting {
		r.lost++
		return
	}
	r.waiting = append(r.waiting, e)
	r.size += len(e.line) + entrySize
	r.signal()
}

// entrySize is the size of an entry without its line, in bytes.
const entrySize = 200

func (r *Recorder) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *Recorder) run() {
	defer close(r.done)
	for range r.wake {
		for {
			r.mu.Lock()
			entries, lost, closed := r.waiting, r.lost, r.closed
			r.waiting, r.size, r.lost = nil, 0, 0
			r.mu.Unlock()
			if lost > 0 {
				entries = append(entries, entry{record: Record{Time: time.Now(), Agent: os.Getpid(), Lost: lost}})
			}
			if len(entries) == 0 {
				if closed {
					return
				}
				break
			}
			r.write(entries)
		}
	}
}

func (r *Recorder) write(entries []entry) {
	for _, e := range entries {
		if e.line != nil {
			line, isJSON := r.secrets.Line(e.line)
			if isJSON {
				e.record.Line = line
			} else {
				e.record.Text = string(line)
			}
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if r.unwritten > 0 {
			_ = enc.Encode(Record{Time: e.record.Time, Agent: e.record.Agent, Lost: r.unwritten}) // a Buffer takes all
		}
		err := enc.Encode(e.record)
		if err == nil {
			_, err = r.to.Write(b.Bytes())
		}
		if err == nil {
			r.unwritten = 0
			continue
		}
		if r.unwritten++; !r.reported {
			r.reported = true
			r.failed(err)
		}
	}
}

// Close waits, for a limited time, until everything is written, and reports whether it is. What comes later is not recorded.
func (r *Recorder) Close() bool {
	r.mu.Lock()
	r.closed = true
	r.signal()
	r.mu.Unlock()
	select {
	case <-r.done:
		return true
	case <-time.After(closeTime):
		return false
	}
}

// Reader returns a reader of in that records what is read from the peer.
func (r *Recorder) Reader(in io.Reader, peer Peer, pid int) io.Reader {
	return &tracedReader{in, tap{r: r, peer: peer, pid: pid, dir: Received}}
}

// Writer returns a writer to out that records what is written to the peer, before it is.
func (r *Recorder) Writer(out io.Writer, peer Peer, pid int) io.WriteCloser {
	return &tracedWriter{out, tap{r: r, peer: peer, pid: pid, dir: Sent}}
}

// Droid returns the two streams of a started droid, recorded. It is for droid.Command.Trace.
func (r *Recorder) Droid(pid int, stdin io.WriteCloser, stdout io.Reader) (io.WriteCloser, io.Reader) {
	r.add(entry{record: Record{Peer: Droid, PID: pid, Note: noteStarted}})
	return r.Writer(stdin, Droid, pid), r.Reader(stdout, Droid, pid)
}

type tracedReader struct {
	in io.Reader
	tap
}

func (t *tracedReader) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	t.record(p[:n])
	if err != nil {
		t.end(noteEnded)
	}
	return n, err
}

// File returns the file that is read, nil if it is none, see jsonrpc.PrefetchReader.
func (t *tracedReader) File() *os.File {
	file, _ := t.in.(*os.File)
	return file
}

type tracedWriter struct {
	out io.Writer
	tap
}

func (t *tracedWriter) Write(p []byte) (int, error) {
	t.record(p)
	return t.out.Write(p)
}

// Close closes the writer that it records.
func (t *tracedWriter) Close() error {
	t.end(noteClosed)
	if closer, is := t.out.(io.Closer); is {
		return closer.Close()
	}
	return nil
}

// tap makes lines of the bytes of one direction.
type tap struct {
	r    *Recorder
	peer Peer
	pid  int
	dir  Direction

	mu    sync.Mutex // Close may be called during a Write
	begun []byte     // of the line that has not ended
	size  int        // of that line
	ended bool
}

func (t *tap) record(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		t.size += len(line)
		if t.size <= maxLine {
			t.begun = append(t.begun, line...)
		}
		if p = rest; whole {
			t.flush()
		}
	}
}

// flush records the line that has begun. The caller holds mu.
func (t *tap) flush() {
	e := entry{record: Record{Peer: t.peer, PID: t.pid, Dir: t.dir}, line: bytes.TrimSuffix(t.begun, []byte("\r"))}
	if t.size > maxLine {
		e.record.Size, e.line = t.size, nil
	}
	if t.size > 0 {
		t.r.add(e)
	}
	t.begun, t.size = nil, 0
}

// end records an incomplete line and the end.
func (t *tap) end(note string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	t.flush()
	t.ended = true
	t.r.add(entry{record: Record{Peer: t.peer, PID: t.pid, Dir: t.dir, Note: note}})
}
