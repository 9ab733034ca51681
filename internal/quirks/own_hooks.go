package quirks

// What droid does: it reports the hooks installed by this program like the user's own. If both have commands for one event, they are
// reported together; before 0.215 the results do not name the commands. If such a hook redirects a Read to another file, 0.225 reports the
// call again with that file, which is private and short-lived. The model's message keeps the original input. A history has a message for
// each hook that ran, "Hook execution started: PreToolUse" if the process that ran it loads the session.
// Seen on: 0.99, 0.215, 0.225.
// Quirk: 33.
// Fixtures: own_hooks_0.99.txtar, own_hooks_0.225.txtar.

import (
	"encoding/json"
	"reflect"
	"slices"

	"droid-acp/internal/droid/stream"
)

func (n *Normalizer) hookStarted(ev stream.HookStarted) {
	if !slices.ContainsFunc(ev.Commands, ownCommand) {
		n.emit(Other{Event: ev})
		return
	}
	n.hooks[ev.HookID] = ev
	ev.Commands = slices.DeleteFunc(slices.Clone(ev.Commands), ownCommand)
	if len(ev.Commands) > 0 {
		n.emit(Other{Event: ev})
	}
}

func (n *Normalizer) hookCompleted(ev stream.HookCompleted) {
	started := n.hooks[ev.HookID]
	delete(n.hooks, ev.HookID)
	silent := len(started.Commands)+len(ev.Results) > 0
	for _, c := range started.Commands {
		silent = silent && ownCommand(c)
	}
	var others []stream.HookResult
	for i, r := range ev.Results {
		command := r.Command
		if command == "" && i < len(started.Commands) {
			command = started.Commands[i].Command
		}
		if !stream.IsOwnHook(command) {
			others = append(others, r)
			continue
		}
		n.redirect(started.ToolCallID, r.Stdout)
	}
	if ev.Results = others; !silent || len(others) > 0 {
		n.emit(Other{Event: ev})
	}
}

func ownCommand(c stream.HookCommand) bool { return stream.IsOwnHook(c.Command) }

// redirect records the input with which our hook, whose output is said, replaced that of the call.
func (n *Normalizer) redirect(raw, said string) {
	c := n.tools.newest[raw]
	if c == nil || c.ended {
		return
	}
	var answer struct {
		HookSpecificOutput struct {
			UpdatedInput json.RawMessage `json:"updatedInput"`
		} `json:"hookSpecificOutput"`
	}
	if json.Unmarshal([]byte(said), &answer) == nil {
		c.redirectedInput = answer.HookSpecificOutput.UpdatedInput
	}
}

// redirectedTo reports whether in is the input with which our hook replaced that of the call. Replacements by the user's hooks are shown.
func (c *openCall) redirectedTo(in json.RawMessage) bool {
	if len(c.redirectedInput) == 0 {
		return false
	}
	var a, b any
	return json.Unmarshal(c.redirectedInput, &a) == nil && json.Unmarshal(in, &b) == nil && reflect.DeepEqual(a, b)
}
