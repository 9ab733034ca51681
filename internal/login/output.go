package login

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"droid-acp/internal/visible"
)

// output is the pipes of a process's stdout and stderr. Those of exec.Cmd would not do:
// its Wait closes them and loses the last lines.
type output struct {
	ours, theirs [2]*os.File
	mu           sync.Mutex
	timer        *time.Timer
}

func newOutput() (*output, error) {
	var o output
	for i := range o.ours {
		var err error
		if o.ours[i], o.theirs[i], err = os.Pipe(); err != nil {
			o.started()
			o.close()
			return nil, err
		}
	}
	return &o, nil
}

// started closes the ends that the process has by now.
func (o *output) started() { closeFiles(o.theirs[:]) }

// closeAfter ends reading after a while.
func (o *output) closeAfter(limit time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timer = time.AfterFunc(limit, func() { closeFiles(o.ours[:]) })
}

// close ends reading now.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
	}
	closeFiles(o.ours[:])
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nil, or closed before, or only read from
	}
}

// noticing is a reader that notes whether there was anything to read.
type noticing struct {
	in   io.Reader
	some atomic.Bool
}

func (n *noticing) Read(p []byte) (int, error) {
	count, err := n.in.Read(p)
	if count > 0 {
		n.some.Store(true)
	}
	return count, err
}

// How much of stderr is kept.
const (
	tailLines = 10
	tailLine  = 1 << 10 // bytes
)

// tail keeps the last lines of what is written to it, by one goroutine.
type tail struct {
	lines   []string
	partial []byte
}

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, found := bytes.Cut(p, []byte("\n"))
		t.partial = append(t.partial, line[:min(len(line), tailLine-len(t.partial))]...)
		if !found {
			return n, nil
		}
		t.flush()
		p = rest
	}
}

func (t *tail) flush() {
	line := strings.TrimSpace(visible.Line(strings.ToValidUTF8(string(t.partial), "\uFFFD")))
	t.partial = t.partial[:0]
	if line == "" {
		return
	}
	t.lines = append(t.lines, line)
	t.lines = t.lines[max(0, len(t.lines)-tailLines):]
}

// last returns the lines, the unfinished one among them.
func (t *tail) last() []string {
	t.flush()
	return t.lines
}
