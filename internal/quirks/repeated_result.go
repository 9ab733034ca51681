package quirks

import "droid-acp/internal/droid/stream"

// What droid does: after an interrupt it sends the result of a tool twice, 0.225 with different texts if a permission was pending.
// Seen on: 0.99, 0.215, 0.225.
// Quirk: 7.
// Fixtures: interrupt_midtool_0.99.txtar, interrupt_permission_0.225.txtar.

// toolResult ends a call with the first result.
func (n *Normalizer) toolResult(ev stream.ToolResult) {
	if n.tools.newest[ev.ToolUseID] == nil && n.late() {
		return
	}
	c := n.openCall(ev.ToolUseID, "")
	if c == nil {
		return
	}
	n.reportInput(c, c.latest)
	n.endCall(c, trimErrorPrefix(ToolEnded{Content: ev.Content, IsError: ev.IsError}))
	n.resultArrived()
}
