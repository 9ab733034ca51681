package render

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// toolView shows one open tool call. A tool that differs from the others has its own type, which embeds *shownCall and overrides methods;
// tools.go assigns them.
type toolView interface {
	base() *shownCall
	// hidden reports whether the call has no entry in the conversation.
	hidden() bool
	// describe completes the representation of a call with this input, which is a non-empty object.
	describe(name string, input json.RawMessage, shown *protocol.ToolCall)
	// announced completes the update that announces the call.
	announced(shown *protocol.ToolCall)
	// running completes the update for the start of execution.
	running(update *protocol.ToolCall)
	// progress shows a progress report of droid.
	progress(m Moment, u stream.ProgressUpdate)
	// ended completes the final update, which already has the status.
	ended(ev quirks.ToolEnded, update *protocol.ToolCall)
	// due returns when flush must be called; false if there is nothing to do.
	due() (time.Time, bool)
	flush(m Moment)
	// planned returns the file changes that the call is about to make.
	planned() []fileChange
	// asked receives the details of a permission request and the changes shown for it. It reports whether the call's entry keeps showing
	// these after a request for several calls.
	asked(tool stream.PermissionToolUse, changes []fileChange) (keep bool)
}

// shownCall is the default toolView.
type shownCall struct {
	v      *View
	id     string
	status string // last status sent
	title  protocol.Line
	prompt int // number of prompts when it began
	kind   acp.ToolKind
}

var _ toolView = (*shownCall)(nil)

func (c *shownCall) base() *shownCall                                         { return c }
func (c *shownCall) hidden() bool                                             { return false }
func (c *shownCall) describe(string, json.RawMessage, *protocol.ToolCall)     {}
func (c *shownCall) announced(*protocol.ToolCall)                             {}
func (c *shownCall) running(*protocol.ToolCall)                               {}
func (c *shownCall) due() (at time.Time, ok bool)                             { return time.Time{}, false }
func (c *shownCall) flush(Moment)                                             {}
func (c *shownCall) planned() []fileChange                                    { return nil }
func (c *shownCall) asked(stream.PermissionToolUse, []fileChange) (keep bool) { return false }

func (c *shownCall) progress(_ Moment, u stream.ProgressUpdate) {
	text := cmp.Or(u.Text, u.Error)
	if text != "" {
		c.sendContent(protocol.TextContent(text))
	}
}

func (c *shownCall) ended(ev quirks.ToolEnded, update *protocol.ToolCall) {
	if !ev.Unfinished { // else keep what it has shown so far
		update.Content = ResultContent(ev.Content)
	}
}

// sendMore sends an update that may follow the end of the call. For clients that forget calls at the next prompt it repeats which call it
// is, since agent-shell would start another list of calls (seen).
func (c *shownCall) sendMore(update protocol.ToolCall) {
	if c.status == protocol.StatusCompleted || c.status == protocol.StatusFailed {
		switch {
		case c.v.client.HidesResults && update.Meta == nil:
			return // it would show a call without a title
		case c.v.client.ForgetsCalls && c.prompt != c.v.prompts:
			update.Title, update.Kind, update.Status = c.title, c.kind, c.status
		}
	}
	c.v.send(update)
}

// sendContent replaces the content of the call.
func (c *shownCall) sendContent(content ...protocol.ToolContent) {
	c.sendMore(protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: c.id, Content: content})
}

// open creates the view of a call.
func (v *View) open(id, name string) toolView {
	c := &shownCall{v: v, id: id, status: protocol.StatusPending, prompt: v.prompts}
	var view toolView = c
	if begin := toolOf(name).view; begin != nil {
		view = begin(c)
	}
	v.calls[id] = view
	v.ids[id] = struct{}{}
	return view
}

// call returns the view of an open call, or the default view.
func (v *View) call(id string) toolView {
	if view := v.calls[id]; view != nil {
		return view
	}
	return &shownCall{v: v, id: id}
}

// Busy reports whether a tool call is open.
func (v *View) Busy() bool { return len(v.calls) > 0 }

// ToolIDs returns the IDs of all calls shown so far. A new droid must not reuse them (quirks.Normalizer.Reserve).
func (v *View) ToolIDs() []string { return slices.Collect(maps.Keys(v.ids)) }

// Due returns when output or a call is due to be shown by Tick; false if none is pending.
func (v *View) Due() (at time.Time, ok bool) {
	consider := func(next time.Time) {
		if !ok || next.Before(at) {
			at, ok = next, true
		}
	}
	for _, h := range v.unannounced {
		if !h.at.IsZero() {
			consider(h.at)
		}
	}
	for _, view := range v.calls {
		if next, waits := view.due(); waits {
			consider(next)
		}
	}
	return at, ok
}

// Tick shows the output and calls that are due.
func (v *View) Tick(m Moment) []Output {
	v.announceDue(m.Now)
	for _, id := range slices.Sorted(maps.Keys(v.calls)) {
		v.calls[id].flush(m)
	}
	return v.take()
}

func (v *View) toolStarted(m Moment, ev quirks.ToolStarted) {
	view := v.open(ev.ID, ev.Name)
	if view.hidden() {
		v.describe(view, ev.Name, ev.Input)
		return
	}
	v.postpone(m.Now, ev)
	if v.past {
		v.announce(ev.ID) // with its complete input
	}
}

// toolInput shows the input of a call that was announced without it.
func (v *View) toolInput(ev quirks.ToolInput) {
	view := v.call(ev.ID)
	update := v.describe(view, ev.Name, ev.Input)
	if view.hidden() {
		return
	}
	update.SessionUpdate = "tool_call_update"
	v.send(update)
}

// describe returns the representation of a call with this input.
func (v *View) describe(view toolView, name string, input json.RawMessage) protocol.ToolCall {
	in := parseToolInput(input)
	raw := object(input)
	shown := protocol.ToolCall{
		ToolCallID: view.base().id,
		Title:      protocol.Line(toolTitle(name, in, v.cwd)),
		Kind:       toolOf(name).kind,
		Locations:  toolLocations(name, in, v.cwd, v.linesFromOne),
		RawInput:   boundedInput(raw),
	}
	view.base().title, view.base().kind = shown.Title, shown.Kind
	if raw != nil {
		view.describe(name, input, &shown)
	}
	return shown
}

// titled returns a call with its title escaped if this client renders it as Markdown. Zed does not render the titles of commands, and
// escapes those of edits itself.
func titled(call protocol.ToolCall, client protocol.ClientProfile) protocol.ToolCall {
	if client.RendersTitleMarkdown && call.Kind != acp.ToolKindExecute && call.Kind != acp.ToolKindEdit {
		call.Title = protocol.Line(markdown.Escaped(visible.Line(string(call.Title))))
	}
	return call
}

func (v *View) toolRunning(id string) {
	view := v.call(id)
	c := view.base()
	if c.status == protocol.StatusInProgress {
		return
	}
	c.status = protocol.StatusInProgress
	if view.hidden() {
		return
	}
	update := protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: id, Status: c.status}
	view.running(&update)
	v.send(update)
}

func (v *View) toolEnded(ev quirks.ToolEnded) {
	view := v.call(ev.ID)
	delete(v.calls, ev.ID)
	if ev.Elsewhere {
		return // its outcome is unknown
	}
	update := protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: ev.ID, Status: protocol.StatusCompleted}
	if ev.IsError || isUnknownTool(ev) {
		update.Status = protocol.StatusFailed
	}
	view.ended(ev, &update)
	if ev.Unfinished && !ev.IsError {
		update.Content = append(update.Content, protocol.TextContent("How this ended is not known."))
	}
	view.base().status = update.Status
	if !view.hidden() {
		v.send(update)
	}
}

// isUnknownTool recognizes the result of a nonexistent tool, which 0.99 does not mark as an error.
func isUnknownTool(ev quirks.ToolEnded) bool {
	return ResultText(ev.Content) == "Unknown tool: "+ev.Name
}
