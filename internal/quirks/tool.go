package quirks

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"slices"

	"droid-acp/internal/droid/stream"
)

// openCall is a tool call, open or ended. Its ID is unique; the model's raw ID need not be.
type openCall struct {
	id, name        string
	first           json.RawMessage // input in ToolStarted, while the call is open
	latest          json.RawMessage // newest input seen, while the call is open
	ran             digest          // of the newest input, once it has ended
	redirectedInput json.RawMessage // replacement for it by our own hook, see own_hooks.go
	inputReported   bool            // the complete input is known and emitted
	started         bool            // droid has started it; it is not just being written
	running         bool
	ended           bool
	epoch           int // number of the model call during which it ended
}

// tools are the calls of a session.
type tools struct {
	newest map[string]*openCall // by raw ID
	used   map[string]struct{}
	reused map[string]int // how often each raw ID was taken
	open   []*openCall
	epoch  int // number of model calls
}

func newTools() tools {
	return tools{newest: map[string]*openCall{}, used: map[string]struct{}{}, reused: map[string]int{}}
}

// noInput is the input of a call while none is known.
const noInput = "{}"

// input returns raw, or noInput if it is not a JSON value.
func input(raw json.RawMessage) json.RawMessage {
	if !json.Valid(raw) || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return json.RawMessage(noInput)
	}
	return raw
}

// sameJSON compares two values, ignoring white space.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	quoted, escaped := false, false
	for {
		if !quoted {
			a, b = bytes.TrimLeft(a, " \t\r\n"), bytes.TrimLeft(b, " \t\r\n")
		}
		if len(a) == 0 || len(b) == 0 || a[0] != b[0] {
			return len(a) == 0 && len(b) == 0
		}
		switch c := a[0]; {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		}
		a, b = a[1:], b[1:]
	}
}

// shared returns the known input if it equals in, so that a file is in memory only once.
func (c *openCall) shared(in json.RawMessage) json.RawMessage {
	if bytes.Equal(c.latest, in) {
		return c.latest
	}
	return in
}

// startCall announces a call under an unused ID.
func (n *Normalizer) startCall(u stream.ToolUse) *openCall {
	n.busy()
	in := input(u.Input)
	c := &openCall{id: n.tools.uniqueID(u.ID), name: u.Name, first: in, latest: in}
	n.tools.newest[u.ID] = c
	n.tools.open = append(n.tools.open, c)
	n.emit(ToolStarted{ID: c.id, Name: c.name, Input: in})
	return c
}

// openCall returns the open call with this raw ID, starting it if the ID is new. It returns nil if the call has ended.
func (n *Normalizer) openCall(raw, name string) *openCall {
	c := n.tools.newest[raw]
	switch {
	case c == nil:
		return n.startCall(stream.ToolUse{ID: raw, Name: name})
	case c.ended:
		return nil
	}
	c.name = cmp.Or(c.name, name)
	return c
}

// CallOpen reports whether the call with this ID has started and not ended.
func (n *Normalizer) CallOpen(id string) bool {
	return slices.ContainsFunc(n.tools.open, func(c *openCall) bool { return c.id == id })
}

// touch records that droid works on c. It returns false if that ended the turn of c, and c with it.
func (n *Normalizer) touch(c *openCall) bool {
	n.busy()
	return !c.ended
}

// reportInput emits the complete input of c, once, if it differs from that in ToolStarted.
func (n *Normalizer) reportInput(c *openCall, in json.RawMessage) {
	if c.inputReported {
		return
	}
	c.inputReported = true
	in = c.shared(in)
	c.latest = in
	if !sameJSON(c.first, in) {
		n.emit(ToolInput{ID: c.id, Name: c.name, Input: in})
	}
}

// run emits that c executes, once.
func (n *Normalizer) run(c *openCall) {
	c.started = true
	n.reportInput(c, c.latest)
	if !c.running {
		c.running = true
		n.emit(ToolRunning{ID: c.id})
	}
}

// endCall ends c, once.
func (n *Normalizer) endCall(c *openCall, end ToolEnded) {
	c.ended = true
	c.epoch = n.tools.epoch
	c.ran, c.first, c.latest, c.redirectedInput = digestOf(c.latest), nil, nil, nil // calls are kept, but their inputs may be large
	end.ID, end.Name = c.id, c.name
	end.MayNeedLogin = blamesDaemon(end)
	end.Background = n.taskEnded(c, end)
	n.tools.open = slices.DeleteFunc(n.tools.open, func(o *openCall) bool { return o == c })
	n.emit(end)
}

// endTools ends the open calls without a result.
func (n *Normalizer) endTools() {
	for len(n.tools.open) > 0 {
		n.endCall(n.tools.open[0], ToolEnded{IsError: true, Unfinished: true})
	}
}

// abandonCalls ends the calls that a failed model call had begun to write.
func (n *Normalizer) abandonCalls() {
	for _, c := range slices.Clone(n.tools.open) {
		if !c.started {
			n.endCall(c, ToolEnded{IsError: true, Unfinished: true})
		}
	}
}

// toolSnapshot processes the complete input of a call from the message with the call.
func (n *Normalizer) toolSnapshot(b stream.ContentBlock) {
	u := stream.ToolUse{ID: b.ID, Name: b.Name, Input: b.Input}
	if c := n.claim(u, true); c != nil {
		c.started = true
		if u.Name != "" {
			c.name = u.Name // of two calls with one ID droid keeps the second
		}
		n.reportInput(c, input(u.Input))
	}
}

func (n *Normalizer) toolPhase(ev stream.ToolPhaseChanged) {
	c := n.openCall(ev.ToolUseID, ev.ToolName)
	if c == nil || !n.touch(c) {
		return
	}
	c.started = true
	if ev.Phase == "executing" {
		n.run(c)
	}
}

func (n *Normalizer) toolProgress(ev stream.ToolProgress) {
	c := n.openCall(ev.ToolUseID, ev.ToolName)
	if c == nil || !n.touch(c) {
		return
	}
	n.run(c)
	n.emit(ToolProgress{ID: c.id, Update: ev.Update})
}

// digest replaces a JSON value that is not kept. It is independent of white space.
type digest [sha256.Size]byte

// digestOf returns the digest of a valid JSON value.
func digestOf(raw json.RawMessage) digest {
	hash := sha256.New()
	begin, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			hash.Write(raw[begin:i])
			begin = i + 1
		}
	}
	hash.Write(raw[min(begin, len(raw)):])
	return digest(hash.Sum(nil))
}
