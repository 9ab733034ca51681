package quirks

import "droid-acp/internal/droid/stream"

// What droid does: tool_call comes 2 to 17 times for one call, first with an empty input, then with what the model has written so far, and
// on 0.99 once more before the result. Only the snapshot and the permission request are certain to have the whole input.
// Seen on: 0.99, 0.215, 0.225.
// Quirk: 8.
// Fixtures: split_tool_args_0.99.txtar, exec_allowed_0.225.txtar.

func (n *Normalizer) toolCall(ev stream.ToolCall) {
	c := n.claim(ev.ToolUse, false)
	if c == nil || !n.touch(c) {
		return
	}
	if in := input(ev.ToolUse.Input); !c.inputReported && string(in) != noInput && !c.redirectedTo(in) {
		c.latest = c.shared(in)
	}
}
