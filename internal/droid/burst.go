package droid

import (
	"io"
	"time"
)

// A fast model makes droid write a line for each piece of a word: 20,000 per second (0.99 to 0.225). Each line that is read by itself wakes
// this process, and then the editor.
const (
	// burstAfter is how many reads in quick succession make a burst. For a tool that it runs at once, droid writes fewer lines, and none of
	// them is delayed: a file is read before the tool changes it.
	burstAfter = 64
	// burstPause is how long the lines of a burst gather in the pipe before they are read together. It is the maximum delay of a line.
	burstPause = 2 * time.Millisecond
	// burstEnough is how many bytes in one read end a burst, whether as one line or many. A burst of deltas, at its fastest 40 lines of 420
	// bytes per millisecond, stays below it.
	burstEnough = 48 << 10
	// burstAgain is how many reads after a read of burstEnough are not delayed either: a line of megabytes takes many reads.
	burstAgain = 8
)

// burstReader reads droid's output during a burst at most once per burstPause. Output after a pause, and bulk output, is read at once.
type burstReader struct {
	r     io.Reader
	last  time.Time // end of the last read, or of our pause after it
	quick int       // consecutive reads that came close together and returned little
}

func (b *burstReader) Read(p []byte) (int, error) {
	if b.quick >= burstAfter {
		time.Sleep(time.Until(b.last.Add(burstPause)))
		b.last = time.Now() // however long the read took: droid was not idle
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
