package show

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

// toolView shows one open tool call. A tool that needs more than the others has a type
// of its own, which embeds *shownCall and replaces what is different; the table in tools.go
// says which.
type toolView interface {
	base() *shownCall
	// hidden reports whether the call has no entry of its own in the conversation.
	hidden() bool
	// describe completes what a call with this input looks like. The input is an object
	// that is not empty.
	describe(name string, input json.RawMessage, shown *protocol.ToolCall)
	// announced completes the update that announces the call.
	announced(shown *protocol.ToolCall)
	// running completes the update that says that the call runs.
	running(update *protocol.ToolCall)
	// progress shows what droid reports of the call while it runs.
	progress(m Moment, u stream.ProgressUpdate)
	// ended completes the update that ends the call, which has its status.
	ended(ev quirks.ToolEnded, update *protocol.ToolCall)
	// due is when flush is to be called; false when there is nothing to do.
	due() (time.Time, bool)
	flush(m Moment)
	// planned are the changes to files that the call is about to make.
	planned() []change
	// asked takes what droid says of the call when it asks for permission, and the
	// changes that are shown for it. It reports whether the call's entry goes on showing
	// these when the request was about several calls.
	asked(tool stream.PermissionToolUse, changes []change) (keep bool)
}

// shownCall is an open tool call, shown as those of most tools are.
type shownCall struct {
	v      *View
	id     string
	status string // as the editor was told last
	title  protocol.Line
	prompt int // how many prompts there were when it began
	kind   acp.ToolKind
}

var _ toolView = (*shownCall)(nil)

func (c *shownCall) base() *shownCall                                     { return c }
func (c *shownCall) hidden() bool                                         { return false }
func (c *shownCall) describe(string, json.RawMessage, *protocol.ToolCall) {}
func (c *shownCall) announced(*protocol.ToolCall)                         {}
func (c *shownCall) running(*protocol.ToolCall)                           {}
func (c *shownCall) due() (at time.Time, ok bool)                         { return time.Time{}, false }
func (c *shownCall) flush(Moment)                                         {}
func (c *shownCall) planned() []change                                    { return nil }
func (c *shownCall) asked(stream.PermissionToolUse, []change) (keep bool) { return false }

func (c *shownCall) progress(_ Moment, u stream.ProgressUpdate) {
	text := cmp.Or(u.Text, u.Error)
	if text != "" {
		c.sendContent(protocol.TextContent(text))
	}
}

func (c *shownCall) ended(ev quirks.ToolEnded, update *protocol.ToolCall) {
	if !ev.Unfinished { // else what it said so far stays
		update.Content = ResultContent(ev.Content)
	}
}

// sendMore sends an update that may come when the call has ended. It says again which call that is to a client that has
// forgotten it by the next prompt: before that, agent-shell would begin another list of calls with it (seen).
func (c *shownCall) sendMore(update protocol.ToolCall) {
	if c.status == protocol.StatusCompleted || c.status == protocol.StatusFailed {
		switch {
		case c.v.client.NoResults && update.Meta == nil:
			return // it would show a call without a title
		case c.v.client.ForgetsCalls && c.prompt != c.v.prompts:
			update.Title, update.Kind, update.Status = c.title, c.kind, c.status
		}
	}
	c.v.send(update)
}

// sendContent puts content in place of what the call showed before.
func (c *shownCall) sendContent(content ...protocol.ToolContent) {
	c.sendMore(protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: c.id, Content: content})
}

// open begins the view of a call.
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

// call is the view of an open call. A call that is not open looks like most.
func (v *View) call(id string) toolView {
	if view := v.calls[id]; view != nil {
		return view
	}
	return &shownCall{v: v, id: id}
}

// Busy reports whether a tool call is open.
func (v *View) Busy() bool { return len(v.calls) > 0 }

// ToolIDs are the ids of all calls that were shown. A new droid must not use them again
// (quirks.Normalizer.Reserve).
func (v *View) ToolIDs() []string { return slices.Collect(maps.Keys(v.ids)) }

// Due is when output or a call waits to be shown by Tick; false when none does.
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

// Tick shows the output and the calls that are due.
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
		v.announce(ev.ID) // with its whole input
	}
}

// toolInput shows the input of a call that was announced without.
func (v *View) toolInput(ev quirks.ToolInput) {
	view := v.call(ev.ID)
	update := v.describe(view, ev.Name, ev.Input)
	if view.hidden() {
		return
	}
	update.SessionUpdate = "tool_call_update"
	v.send(update)
}

// describe is what a call with this input looks like.
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

// titled is a call as this client draws its title. Zed draws those of commands as they stand, and escapes those
// of edits itself.
func titled(call protocol.ToolCall, client protocol.ClientTraits) protocol.ToolCall {
	if client.MarkdownTitles && call.Kind != acp.ToolKindExecute && call.Kind != acp.ToolKindEdit {
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
		return // it is not known how it ends
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

// isUnknownTool tells the result of a tool that does not exist, which 0.99 calls
// no error.
func isUnknownTool(ev quirks.ToolEnded) bool {
	return ResultText(ev.Content) == "Unknown tool: "+ev.Name
}
