package editorfs

import (
	"slices"
	"time"
)

const (
	// commandSlack is how long after the end of a command a change may still be its effect.
	commandSlack = 50 * time.Millisecond
	// maxWindows is the number of recorded intervals. Beyond it the two oldest are merged; at worst this gives the disk precedence over an
	// unsaved text.
	maxWindows = 1000
)

// commands records when commands ran, which may have changed any file.
type commands struct {
	open    map[commandKey]time.Time
	windows []window // sorted by end
}

type commandKey struct {
	overlay *Overlay
	id      string
}

type window struct{ from, to time.Time }

func (c *commands) begin(key commandKey, now time.Time) {
	if _, runs := c.open[key]; !runs {
		c.open[key] = now
	}
}

func (c *commands) end(key commandKey, now time.Time) {
	from, runs := c.open[key]
	if !runs {
		return
	}
	delete(c.open, key)
	c.windows = append(c.windows, window{from, now.Add(commandSlack)})
	if len(c.windows) > maxWindows {
		if first := c.windows[0].from; first.Before(c.windows[1].from) {
			c.windows[1].from = first
		}
		c.windows = slices.Delete(c.windows, 0, 1)
	}
}

// ran reports whether a command ran at this time.
func (c *commands) ran(at time.Time) bool {
	for _, from := range c.open {
		if !at.Before(from) {
			return true
		}
	}
	for _, w := range slices.Backward(c.windows) {
		if at.After(w.to) {
			return false
		}
		if !at.Before(w.from) {
			return true
		}
	}
	return false
}
