package quirks

// What droid does: it passes on the model's tool IDs. Some models use the same ID for a call of every message, or for two calls of one
// message; droid then treats those two as one.
// Seen on: 0.99, 0.215, 0.225.
// Quirk: 10.
// Fixtures: same_tool_ids_0.99.txtar, same_tool_ids_0.225.txtar.

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"droid-acp/internal/droid/stream"
)

// modelCalled records a new model call, so that a reused ID denotes another call. While a tool is open, droid reports "streaming" for other
// reasons, such as an answered permission.
func (n *Normalizer) modelCalled() {
	if len(n.tools.open) == 0 {
		n.tools.epoch++
	}
}

// claim returns the call that u refers to: the open one with that ID, or a new one. It returns nil if u only repeats a call that has ended.
// There is one snapshot per message, so there the same input denotes another call, too.
func (n *Normalizer) claim(u stream.ToolUse, snapshot bool) *openCall {
	c := n.tools.newest[u.ID]
	if c == nil {
		return n.startCall(u)
	}
	if !c.ended {
		c.name = cmp.Or(c.name, u.Name)
		return c
	}
	in := input(u.Input)
	repeats := !snapshot && string(in) != noInput && digestOf(in) == c.ran
	if n.tools.epoch == c.epoch || repeats {
		return nil
	}
	return n.startCall(u)
}

// uniqueID returns raw, or raw with the first free suffix from "~2" on.
func (t *tools) uniqueID(raw string) string {
	id := raw
	for {
		if _, taken := t.used[id]; !taken {
			t.used[id] = struct{}{}
			return id
		}
		t.reused[raw]++ // no suffix becomes free again
		id = fmt.Sprintf("%s~%d", raw, t.reused[raw]+1)
	}
}

// RawID returns droid's ID of a call whose ID was made by uniqueID.
func RawID(id string) string {
	at := strings.LastIndexByte(id, '~')
	if _, err := strconv.Atoi(id[at+1:]); err != nil || at < 0 {
		return id
	}
	return id[:at]
}
