// Package filecalls knows which calls of droid's tools read or change which files, and which hooks wait for them: droid's events and hooks
// go in, jobs with the editor's files come out. The caller of each function must hold the session's lock; the jobs themselves, which block, are
// done without it. The package is pure.
package filecalls

import (
	"encoding/json"
	"slices"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// droid's names of the moments at which it runs a hook (0.99 to 0.225).
const (
	BeforeTool = "PreToolUse"
	AfterTool  = "PostToolUse"
)

// Overlay holds what the open calls of a process hold of the editor's files. None of its methods
// waits.
type Overlay interface {
	CommandBegan(id string)
	CommandEnded(id string)
	Drop(id string)
	Close()
}

// Calls are the open calls of a session that read or change files, and the hooks that wait for these.
// The zero value leaves all files on the disk.
type Calls struct {
	overlay Overlay // nil: files stay on the disk
	open    []*call // in the order in which droid announced them
	// commands are calls of tools that may change any file without saying which. Those
	// that have ended are among them until the turn ends.
	commands []string
	hooks    []*Hook  // of calls that droid's events have not announced yet
	looked   []string // files that a call of this turn reads or changes, where they stay on the disk
}

// call is one call of droid's Read, Create, Edit, MultiEdit or ApplyPatch.
type call struct {
	told   quirks.ToolInput // with its whole input
	files  []string         // that it reads or changes, by absolute path
	stage  stage            // how far it is
	ran    string           // droid's id of the hooks that it runs after the tool
	others bool             // hooks of the user's are among these
}

type stage int

const (
	announced stage = iota
	begun           // its hook before the tool has come
	done            // droid runs hooks after the tool
	delivered       // our hook after the tool has come
)

// stageOf returns the stage of a call whose hook runs.
var stageOf = map[string]stage{BeforeTool: announced, AfterTool: done}

// edits reports whether the call changes files.
func (o *call) edits() bool { return o.told.Name != "Read" }

// goesOn reports whether it is an edit whose hook after the tool may still come.
func (o *call) goesOn() bool { return o.edits() && (o.stage == begun || o.stage == done) }

// Begin begins with a process whose files go through the editor.
func (c *Calls) Begin(overlay Overlay) {
	c.End()
	c.overlay = overlay
}

// End is the end of the process or of the session: no call is open any more, and files stay on
// the disk.
func (c *Calls) End() {
	c.clear()
	if c.overlay != nil {
		c.overlay.Close()
		c.overlay = nil
	}
}

// On reports whether files go through the editor.
func (c *Calls) On() bool { return c.overlay != nil }

// Handle takes what droid says of its calls, in order, before anything is left out of it for
// the user.
func (c *Calls) Handle(ev quirks.Event, cwd string) {
	if c.overlay == nil {
		return
	}
	switch ev := ev.(type) {
	case quirks.ToolStarted:
		c.started(quirks.ToolInput(ev), cwd)
	case quirks.ToolInput:
		c.started(ev, cwd)
	case quirks.ToolEnded:
		c.ended(ev)
	case quirks.TurnEnded:
		c.clear()
	}
}

// NoteHook records which hooks droid runs after a tool, and their ends. droid runs edits one after the other. The user's own hooks run
// concurrently with ours, and may write the edited file: then it stays as it is on disk. The same holds if ours was not among them: 0.99
// cannot start a hook for a file of more than some 125 kB.
func (c *Calls) NoteHook(ev stream.Event) {
	switch ev := ev.(type) {
	case stream.HookStarted:
		o := c.first(ev.Tool, begun, nil)
		if ev.EventName != AfterTool || o == nil || !o.edits() {
			return
		}
		o.stage, o.ran = done, ev.HookID
		for _, h := range ev.Commands {
			o.others = o.others || !stream.IsOwnHook(h.Command)
		}
		c.serve()
	case stream.HookCompleted:
		for _, o := range slices.Clone(c.open) {
			if o.stage == done && o.ran == ev.HookID {
				c.drop(o)
			}
		}
	}
}

// started notes a call, or its whole input.
func (c *Calls) started(told quirks.ToolInput, cwd string) {
	files := toolFiles(told.Name, told.Input, cwd)
	if files == nil {
		if mayChangeFiles(told.Name) {
			c.overlay.CommandBegan(told.ID)
			c.commands = append(c.commands, told.ID)
		}
		return
	}
	if o := c.call(told.ID); o != nil {
		o.told, o.files = told, files
	} else {
		c.open = append(c.open, &call{told: told, files: files})
	}
	c.serve()
}

// ended lets go of what a call held. After a success the hook after the tool is still to
// come on a droid that reports the result before it (0.99).
func (c *Calls) ended(ev quirks.ToolEnded) {
	o := c.call(ev.ID)
	switch {
	case o == nil:
		c.overlay.CommandEnded(ev.ID)
	case !o.goesOn() || ev.IsError:
		c.drop(o)
	}
}

// clear lets go of all calls: the turn or the process has ended.
func (c *Calls) clear() {
	for _, o := range c.open {
		c.overlay.Drop(o.told.ID)
	}
	for _, id := range c.commands {
		c.overlay.CommandEnded(id)
	}
	c.open, c.hooks, c.commands = nil, nil, nil
}

// drop ends an open call, and lets go of what it holds.
func (c *Calls) drop(o *call) {
	i := slices.Index(c.open, o)
	c.open = slices.Delete(c.open, i, i+1)
	c.overlay.Drop(o.told.ID)
}

// call finds an open call, nil for none of this id.
func (c *Calls) call(id string) *call {
	for _, o := range c.open {
		if o.told.ID == id {
			return o
		}
	}
	return nil
}

// first returns the first open call of a tool at a stage, with these files, or nil for any. Of several calls
// that are alike, droid runs the first one first.
func (c *Calls) first(tool string, at stage, files []string) *call {
	for _, o := range c.open {
		if o.told.Name == tool && o.stage == at && (files == nil || slices.Equal(o.files, files)) {
			return o
		}
	}
	return nil
}

// Has reports whether a call is open.
func (c *Calls) Has(id string) bool { return c.call(id) != nil }

// Hook is one of our hooks that droid runs for a call. It does not name its call.
type Hook struct {
	Event, Tool string
	Input       json.RawMessage
	Job         *Job // to be done before droid continues, once that is known; nil for nothing

	files []string
}

// Hooked takes a hook. If droid's events have not announced its call yet, it waits, see Waits.
func (c *Calls) Hooked(h *Hook, cwd string) {
	h.files = toolFiles(h.Tool, h.Input, cwd)
	if c.overlay != nil && h.files != nil {
		c.hooks = append(c.hooks, h)
		c.serve()
	}
}

// Waits reports whether a hook waits for its call. It gets its Job at most as long as it does.
func (c *Calls) Waits(h *Hook) bool { return slices.Contains(c.hooks, h) }

// Forget abandons a hook that may wait for nothing.
func (c *Calls) Forget(h *Hook) {
	if i := slices.Index(c.hooks, h); i >= 0 {
		c.hooks = slices.Delete(c.hooks, i, i+1)
	}
}

// serve gives the hooks whose calls are known their jobs.
func (c *Calls) serve() {
	for _, h := range slices.Clone(c.hooks) {
		if h.Job = c.job(h); h.Job != nil {
			c.Forget(h)
		}
	}
}

// job returns the job for a hook, nil if its call is not known.
func (c *Calls) job(h *Hook) *Job {
	at, ours := stageOf[h.Event]
	o := c.first(h.Tool, at, h.files)
	switch {
	case !ours || o == nil:
		return nil
	case !o.edits():
		o.stage = begun
		return &Job{Work: Read, Call: quirks.ToolInput{ID: o.told.ID, Name: h.Tool, Input: h.Input}, Files: o.files}
	case at == announced:
		for _, before := range slices.Clone(c.open) {
			if before.goesOn() { // droid runs the next edit, so the last hook of this one does not come
				c.drop(before)
			}
		}
		o.stage = begun
		return &Job{Work: Prepare, Call: o.told, Files: o.files, Shown: true}
	}
	o.stage = delivered
	if o.others {
		return &Job{Work: Leave, Call: o.told}
	}
	return &Job{Work: Deliver, Call: o.told}
}
