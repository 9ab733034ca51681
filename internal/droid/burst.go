package droid

import (
	"io"
	"time"
)

// Of a model that writes fast, droid writes a line for each piece of a word: 20,000 in a second
// (0.99 to 0.225). Each line that is read alone wakes us, and then the editor.
const (
	// burstAfter is how many reads in quick succession are a burst. What droid says of a tool that it
	// runs at once are fewer lines, of which none waits: a file is looked at before the tool changes it.
	burstAfter = 64
	// burstPause is how long lines of a burst gather in the pipe before they are read together.
	// It is the most that a line waits there.
	burstPause = 2 * time.Millisecond
	// burstEnough is how many bytes of one read are worth a read of their own, be they one line or
	// many. A burst of deltas, 40 lines of 420 bytes in a millisecond at its fastest, brings less.
	burstEnough = 48 << 10
	// burstAgain is how many reads behind one of burstEnough come at once, too: a line of megabytes
	// comes in many.
	burstAgain = 8
)

// burstReader reads what droid writes in a burst at most once in burstPause. What comes after a
// pause is read at once, and so is what comes in bulk.
type burstReader struct {
	r     io.Reader
	last  time.Time // when the last read ended, or our own pause behind it
	quick int       // reads up to it that came close together, and brought little
}

func (b *burstReader) Read(p []byte) (int, error) {
	if b.quick >= burstAfter {
		time.Sleep(time.Until(b.last.Add(burstPause)))
		b.last = time.Now() // however long it was: droid did not rest
	}
	n, err := b.r.Read(p)
	now := time.Now()
	b.quick++
	switch {
	case now.Sub(b.last) >= 2*burstPause:
		b.quick = 0
	case n >= burstEnough:
		b.quick = min(b.quick, burstAfter-burstAgain)
	}
	b.last = now
	return n, err
}
