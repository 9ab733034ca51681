package serve

import (
	"encoding/json"
	"slices"
	"strings"

	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/rawjson"
	"droid-acp/internal/text/udiff"
	"droid-acp/internal/text/visible"
)

// An agent sends what the client can show for which it was started. A client that joins one of its sessions may be able to show less: that is
// left out for it, or rewritten. Or it can do more, which the agent does not use: the client is sent a note. The table says both.

// ability is one that a client declares, or is known to have.
type ability struct {
	name       string // for the note; "" for none
	has        func(capabilities) bool
	updates    rewrites                                                  // those that need it, for a client without it
	live       bool                                                      // they are the server's own, and no client needs it while it loads a session
	permission func(q *question, c *Client) (line []byte, before string) // a request for a client without it, nil as it is, and what is said before
}

type capabilities = protocol.ClientCapabilities

// rewrites have, by what the kinds of updates begin with, what is shown instead of one: update, changed, or another one; nil for nothing.
type rewrites map[string]func(o *session, c *Client, update updateFields) any

type updateFields = map[string]json.RawMessage

var abilities = []ability{
	{name: "files in the editor", has: func(c capabilities) bool { return c.Files && c.SafeFiles }},
	{name: "forms", has: func(c capabilities) bool { return c.Forms }},
	{name: "links to open", has: func(c capabilities) bool { return c.URLs }},
	{name: "terminals with output", has: func(c capabilities) bool { return c.TerminalOutput }, updates: rewrites{"tool_call": withoutTerminal}},
	{name: "plans beside the conversation", has: func(c capabilities) bool { return c.Plans }, updates: rewrites{"plan_update": withoutPlanID}},
	{name: "subagents as sessions", has: func(c capabilities) bool { return c.Subagents }, updates: rewrites{"subagent_update": leftOut}},
	{name: "background tasks", has: func(c capabilities) bool { return c.AsyncTasks }, updates: rewrites{"async_task_": leftOut, "tool_call": withoutTasks}},
	{name: "failures with what to do", has: func(c capabilities) bool { return c.SessionFailures }, updates: rewrites{"session_info_update": withoutFailure}},
	{has: func(c capabilities) bool { return c.LoadReplayEnd }, updates: rewrites{"session_info_update": withoutReplayEnd}},
	{name: "marks of a compaction", has: func(c capabilities) bool { return c.Compaction }, updates: rewrites{"compaction_update": compactionText}},
	{name: "notices", has: func(c capabilities) bool { return c.Notices }, updates: rewrites{"notice": noticeText}},
	{name: "switches among the options", has: func(c capabilities) bool { return c.BooleanOptions }, updates: rewrites{"config_option_update": withoutSwitches}},
	{has: func(c capabilities) bool { return !c.RejectsForeignPrompts }, updates: rewrites{"user_message_chunk": promptText}, live: true},
	{has: func(c capabilities) bool { return c.ShowsRequestContent && !c.HidesWaitingDiffs }, permission: sayUnseen},
	{has: func(c capabilities) bool { return c.ShowsOptionNames }, permission: byKind},
}

// beyond are the names of what a client can do and another one cannot.
func beyond(c, other capabilities) (names []string) {
	for _, a := range abilities {
		if a.name != "" && a.has(c) && !a.has(other) {
			names = append(names, a.name)
		}
	}
	return names
}

// shown is a message of the session for a client, which loads it or not; nil where that is left out.
func (o *session) shown(c *Client, message []byte, loads bool) []byte {
	if o.marksOtherReplay(c, message) || o.hidesSubagent(c, message) {
		return nil
	}
	alike := c.abilities == o.agent.abilities // so its agent has seen to that
	var kind string
	var raw []byte
	var update updateFields
	var instead any
	for _, a := range abilities {
		if a.updates == nil || a.has(c.caps) || a.live && loads || !a.live && alike {
			continue
		}
		if kind == "" {
			kind, raw = updateKind(message)
		}
		for begin, rewrite := range a.updates {
			if !strings.HasPrefix(kind, begin) {
				continue
			}
			if update == nil {
				update = protocol.Fields(raw)
			}
			if instead = rewrite(o, c, update); instead == nil {
				return nil
			}
		}
	}
	if instead == nil {
		return message
	}
	line, err := encodeUpdate(subject(message), instead)
	if err != nil {
		o.server.Log.Error("an update cannot be encoded", zap.Error(err))
		return nil
	}
	return line[:len(line)-1]
}

func leftOut(*session, *Client, updateFields) any { return nil }

func noticeText(_ *session, _ *Client, update updateFields) any {
	return ownWords("\n\n" + strings.TrimSpace(rawjson.Unquote(update["title"])+"\n\n"+rawjson.Unquote(update["description"])) + "\n\n")
}

// compactionText says how a compaction ended; one that runs is left out.
func compactionText(_ *session, _ *Client, update updateFields) any {
	switch rawjson.Unquote(update["status"]) {
	case "completed":
		return ownWords("\n\nThe conversation was compacted.\n\n")
	case "failed", "cancelled":
		return ownWords("\n\nThe conversation was not compacted. " + visible.Text(rawjson.Unquote(update["error"])) + "\n\n")
	}
	return nil
}

// withoutPlanID is a plan for a client that knows no plans by their ids.
func withoutPlanID(_ *session, _ *Client, update updateFields) any {
	if entries := rawjson.Field(update["plan"], "entries"); entries != nil {
		return map[string]any{"sessionUpdate": "plan", "entries": json.RawMessage(entries)}
	}
	return ownWords("\n\n" + textAt(update["plan"], "content") + "\n\n")
}

// promptText is a prompt of another client as a message.
func promptText(_ *session, _ *Client, update updateFields) any {
	text := textAt(update["content"], "text")
	if kind := textAt(update["content"], "type"); kind != "text" {
		text = "[" + kind + "]"
	}
	who := textAt(rawjson.Field(update["_meta"], "droid-acp"), "client")
	return ownWords("\n\n**" + markdown.Escaped(who) + ":** " + text + "\n\n")
}

// withoutSwitches leaves out options of the type boolean.
func withoutSwitches(_ *session, _ *Client, fields updateFields) any {
	var all []json.RawMessage
	if json.Unmarshal(fields["configOptions"], &all) == nil {
		all = slices.DeleteFunc(all, func(option json.RawMessage) bool { return textAt(option, "type") == "boolean" })
		fields["configOptions"], _ = json.Marshal(all) // raw JSON encodes
	}
	return fields
}

const (
	// maxOutput is how many bytes at the end of a command's output a client is shown that shows no terminals.
	maxOutput = 16 << 10
	// maxOutputs is for how many commands that is kept.
	maxOutputs = 64
)

func withoutTasks(_ *session, _ *Client, update updateFields) any {
	return withoutMeta(update, "jetbrains")
}

// withoutMeta is an update of a call without some of its _meta; nil where nothing is left.
func withoutMeta(update updateFields, names ...string) any {
	meta := protocol.Fields(update["_meta"])
	for _, name := range names {
		delete(meta, name)
	}
	if delete(update, "_meta"); len(meta) > 0 {
		update["_meta"], _ = json.Marshal(meta) // what was decoded encodes
	}
	if len(update) <= 2 && string(update["sessionUpdate"]) == `"tool_call_update"` {
		return nil
	}
	return update
}

// withoutTerminal puts the output of a call's terminal into its content as text, with the next update that shows the terminal or its end.
func withoutTerminal(o *session, c *Client, update updateFields) any {
	id, meta := o.id+" "+string(update["toolCallId"]), protocol.Fields(update["_meta"])
	if string(update["sessionUpdate"]) == `"tool_call"` {
		delete(c.outputs, id) // of what a load tells once more
	}
	if data := textAt(meta["terminal_output"], "data"); data != "" {
		if len(c.outputs) >= maxOutputs || c.outputs == nil {
			c.outputs = map[string]string{id: c.outputs[id]}
		}
		text := c.outputs[id] + data
		c.outputs[id] = text[max(0, len(text)-maxOutput):]
	}
	ended := meta["terminal_exit"] != nil
	var content []json.RawMessage
	_ = json.Unmarshal(update["content"], &content) // nothing for nothing
	rest := slices.DeleteFunc(slices.Clone(content), func(item json.RawMessage) bool { return textAt(item, "type") == "terminal" })
	if len(rest) < len(content) || ended {
		if text := c.outputs[id]; text != "" {
			shown, _ := json.Marshal(protocol.TextContent(markdown.Fenced("console", visible.Text(text)))) // a text encodes
			rest = append([]json.RawMessage{shown}, rest...)
		}
		if delete(update, "content"); len(rest) > 0 {
			update["content"], _ = json.Marshal(rest)
		}
	}
	return withoutMeta(update, "terminal_info", "terminal_output", "terminal_exit")
}

// updateKind is the kind of a session/update, "" for another message, with the update.
func updateKind(message []byte) (kind string, update []byte) {
	h, ok := jsonrpc.ReadHead(message)
	if !ok || h.Method != "session/update" {
		return "", nil
	}
	update = rawjson.Field(paramsOf(message, h), "update")
	return textAt(update, "sessionUpdate"), update
}

// inTurns reports whether a message is of those that a client may take while a prompt of its own runs alone.
func inTurns(message []byte) bool {
	switch kind, _ := updateKind(message); kind {
	case "agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call", "tool_call_update", "plan":
		return true
	}
	return false
}

// put sends the question to a client: one that shows what the agent's does gets it as it is, another one as it
// can show it.
func (q *question) put(c *Client) {
	line := q.line
	for _, a := range abilities {
		if a.permission == nil || a.has(c.caps) || q.method != askPermission || q.session == nil || q.agent.caps.ClientProfile == c.caps.ClientProfile {
			continue
		}
		instead, before := a.permission(q, c)
		if q.session.sayTo(c, before); instead != nil {
			line = instead
		}
	}
	c.send(q.forParent(c, forClient(c, line)))
}

// choice is what the result of a request for permission says, as its user saw it.
func (q *question) choice(result []byte) string {
	id := textAt(rawjson.Field(result, "outcome"), "optionId")
	for _, o := range q.options() {
		if textAt(o, "optionId") == id {
			return visible.Line(textAt(o, "name"))
		}
	}
	return "no choice"
}

func (q *question) options() (options []json.RawMessage) {
	_ = json.Unmarshal(rawjson.Field(q.params, "options"), &options) // none where there are none
	return options
}

// namesOnly is protocol.OwnMeta's.
func (q *question) namesOnly() bool {
	own := rawjson.Field(rawjson.Field(rawjson.Field(q.params, "toolCall"), "_meta"), "droid-acp")
	return string(rawjson.Field(own, "namesOnly")) == "true"
}

// byKind is the question for a client that acts on the kind of an option and shows no names: of several that allow
// something by the same kind its user could not say which, so it has none of them.
func byKind(q *question, c *Client) (line []byte, before string) {
	if c.caps.MayShowOptionNames() && !q.namesOnly() {
		return nil, ""
	}
	var left []string
	many := map[string]int{}
	for _, o := range q.options() {
		many[textAt(o, "kind")]++
	}
	kept := []json.RawMessage{}
	for _, o := range q.options() {
		kind := textAt(o, "kind")
		refuses := strings.HasPrefix(kind, "reject_")
		switch {
		case many[kind] == 1, refuses && many[kind] > 0:
			kept = append(kept, o)
		case !refuses:
			left = append(left, visible.Line(textAt(o, "name")))
		}
		if refuses {
			many[kind] = 0 // the first does
		}
	}
	options, _ := json.Marshal(kept) // raw JSON encodes
	if len(left) > 0 {
		before = "\n\nThese cannot be chosen here, since this client is not known to show what choices are called: " + strings.Join(left, ", ") + ".\n\n"
	}
	return q.with("options", options), before
}

// maxDiff is how many bytes of a file's two texts are compared to be shown.
const maxDiff = 256 << 10

// sayUnseen says before the question what that has and the client does not show.
func sayUnseen(q *question, c *Client) (_ []byte, before string) {
	var call struct {
		Title   string
		Content []struct {
			Type             string
			Content          struct{ Text string }
			Path             string
			OldText, NewText string
		}
	}
	if json.Unmarshal(rawjson.Field(q.params, "toolCall"), &call) != nil {
		return nil, ""
	}
	var parts []string
	for i, item := range call.Content {
		switch {
		case item.Type == "content" && !c.caps.ShowsRequestContent && item.Content.Text != "":
			parts = append(parts, item.Content.Text)
		case item.Type == "diff" && (c.caps.HidesWaitingDiffs || !c.caps.ShowsRequestContent && !(c.caps.ShowsLeadingDiff && i == 0)):
			parts = append(parts, markdown.Code(visible.Line(item.Path)), changed(item.OldText, item.NewText))
		}
	}
	if parts == nil {
		return nil, ""
	}
	return nil, "\n\n" + markdown.Code(visible.Line(call.Title)) + "\n\n" + strings.Join(parts, "\n\n") + "\n\n"
}

// changed is how a file changes.
func changed(before, after string) string {
	if len(before)+len(after) > maxDiff {
		return "The change is too long to be shown here."
	}
	var lines []string
	for _, l := range udiff.Lines(before, after) {
		lines = append(lines, l.Text)
	}
	return markdown.Fenced("diff", visible.Text(strings.Join(lines, "\n")))
}
