package shell

import (
	"fmt"
	"strings"
	"sync"

	"droid-acp/internal/text/visible"
)

const (
	// Kept is how much of the beginning of a command's output is shown, in bytes.
	Kept = 1 << 20
	// Tail is how much of the end is shown of an output that is longer, in bytes.
	Tail = 8 << 10
)

// Output holds what a command has written and was not taken yet: the first Kept bytes and, of the rest, the last Tail bytes. One goroutine
// writes while another takes.
type Output struct {
	ready func()

	mu    sync.Mutex
	told  bool   // ready was called since the last Take
	fresh []byte // of the first Kept bytes, what was not taken
	kept  int    // how many of the first Kept bytes were written
	tail  []byte // the end of what follows them
	over  int    // how many bytes follow them
}

// NewOutput returns an empty output. It calls ready, in the goroutine that writes,
// when there is something to take, and not again before that is taken.
func NewOutput(ready func()) *Output { return &Output{ready: ready} }

// Write takes all of p. It never fails.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	n := min(len(p), Kept-o.kept)
	o.fresh = append(o.fresh, p[:n]...)
	o.kept += n
	o.over += len(p) - n
	o.tail = append(o.tail, p[n:]...)
	if cut := len(o.tail) - Tail; cut > 0 {
		o.tail = append(o.tail[:0], o.tail[cut:]...)
	}
	tell := n > 0 && !o.told
	o.told = o.told || tell
	o.mu.Unlock()
	if tell {
		o.ready()
	}
	return len(p), nil
}

// Take returns what was written since the last Take, as valid UTF-8. A character
// whose end was not written yet stays for the next time.
func (o *Output) Take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = false
	end := visible.CompleteLen(o.fresh)
	piece := strings.ToValidUTF8(string(o.fresh[:end]), "\uFFFD")
	o.fresh = append(o.fresh[:0], o.fresh[end:]...)
	return piece
}

// Rest returns all that was not taken when the command has ended, as valid UTF-8:
// what is left of the beginning, a word about what is left out, and the end.
func (o *Output) Rest() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	piece := string(o.fresh)
	o.fresh = nil
	if o.over > len(o.tail) {
		piece += leftOut(o.over - len(o.tail))
	}
	return strings.ToValidUTF8(piece+string(o.tail), "\uFFFD")
}

// leftOut returns the text in an output for n bytes that are missing.
func leftOut(n int) string { return fmt.Sprintf("\n[… %d bytes left out …]\n", n) }
