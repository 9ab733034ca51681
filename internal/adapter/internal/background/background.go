// Package background keeps the commands that droid has left running when their calls had ended, and looks what becomes
// of them: droid does not report that. They end with their droid.
package background

import (
	"encoding/json"
	"slices"
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
)

// Command is one of them.
type Command struct {
	render.BackgroundCommand
	Number  int                     // counted from 1, in the life of a droid
	Line    string                  // the command, as the model gave it
	Since   time.Time               // when its call ended
	Of      droid.BackgroundCommand // its processes; nil until it is watched
	Stopped bool                    // the user has it stopped
}

// Commands are those of one droid. The zero value has none. It is not safe for concurrent use.
type Commands struct {
	calls map[string]string // the commands of open calls that ask for the background, by the id of the call
	run   []*Command
	count int // of all so far
	lost  int // of which nothing is known
}

// Handle handles an event of droid. It returns the command that continues in the background from here on, nil for none: the result of a
// call counts only if the call asked for that.
func (c *Commands) Handle(now time.Time, ev quirks.Event) *Command {
	switch ev := ev.(type) {
	case quirks.ToolStarted:
		c.called(ev.ID, ev.Name, ev.Input)
	case quirks.ToolInput:
		c.called(ev.ID, ev.Name, ev.Input)
	case quirks.ToolEnded:
		line, open := c.calls[ev.ID]
		delete(c.calls, ev.ID)
		left, ok := render.ParseBackgroundResult(ev.Content)
		if !open || !ok || ev.IsError {
			return nil
		}
		c.count++
		begun := &Command{BackgroundCommand: left, Number: c.count, Line: line, Since: now}
		c.run = append(c.run, begun)
		return begun
	}
	return nil
}

func (c *Commands) called(id, tool string, input json.RawMessage) {
	if render.RunsInBackground(tool, input) {
		if c.calls == nil {
			c.calls = make(map[string]string)
		}
		c.calls[id] = render.ParseCommand(input)
	}
}

// Running returns the commands that have presumably not ended, the oldest first.
func (c *Commands) Running() []*Command { return slices.Clone(c.run) }

// Known returns how many there were.
func (c *Commands) Known() int { return c.count - c.lost }

// Lose notes that nothing is known of one of them.
func (c *Commands) Lose(this *Command) {
	if c.Ended(this) {
		c.lost++
	}
}

// Runs reports whether this is one of them; nil is any.
func (c *Commands) Runs(this *Command) bool {
	return this == nil && len(c.run) > 0 || slices.Contains(c.run, this)
}

// Ended notes that one of them has ended. It is true once.
func (c *Commands) Ended(this *Command) bool {
	i := slices.Index(c.run, this)
	if i < 0 {
		return false
	}
	c.run = slices.Delete(c.run, i, i+1)
	return true
}
