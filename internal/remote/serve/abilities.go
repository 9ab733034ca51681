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

// An agent sends what the client that it was started for can show. A client that joins one of its sessions may support less: updates that
// it cannot show are omitted or rewritten for it. Or it supports more, which the agent does not use: the client gets a note. The table
// lists both.

// clientAbility is a feature that a client declares or is known to have.
type clientAbility struct {
	name       string // for the note; "" if it is not mentioned there
	has        func(capabilities) bool
	updates    rewrites                                                  // updates that need it, and their rewriting for a client without it
	live       bool                                                      // the server sends these itself, and no client needs them while it loads a session
	permission func(q *question, c *Client) (line []byte, before string) // rewrites a permission request for a client without it; line is nil if nothing changes, before is text to show first
}

type capabilities = protocol.ClientCapabilities

// rewrites maps prefixes of update kinds to a function that returns what is shown instead: update, changed, or another value; nil omits it.
type rewrites map[string]func(o *session, c *Client, update updateFields) any

type updateFields = map[string]json.RawMessage

var abilities = []clientAbility{
	{name: "files in the editor", has: func(c capabilities) bool { return c.Files && c.SafeFiles }},
	{name: "forms", has: func(c capabilities) bool { return c.Forms }},
	{name: "links to open", has: func(c capabilities) bool { return c.URLs }},
	{name: "terminals with output", has: func(c capabilities) bool { return c.TerminalOutput }, updates: rewrites{"tool_call": withoutTerminal}},
	{name: "plans beside the conversation", has: func(c capabilities) bool { return c.Plans }, updates: rewrites{"plan_update": withoutPlanID}},
	{name: "subagents as sessions", has: func(c capabilities) bool { return c.Subagents != "" }},
	{has: func(c capabilities) bool { return c.Subagents == protocol.SubagentSessions }, updates: rewrites{"subagent_update": omit}},
	{has: func(c capabilities) bool { return c.Subagents == protocol.AirSubagents }, updates: rewrites{"subagent_spawned": omit, "subagent_state_update": omit}},
	{name: "background tasks", has: func(c capabilities) bool { return c.AsyncTasks }, updates: rewrites{"async_task_": omit, "tool_call": withoutTasks}},
	{name: "failures with what to do", has: func(c capabilities) bool { return c.SessionFailures }, updates: rewrites{"session_info_update": withoutFailure}},
	{has: func(c capabilities) bool { return c.LoadReplayEnd }, updates: rewrites{"session_info_update": withoutReplayEnd}},
	{name: "marks of a compaction", has: func(c capabilities) bool { return c.Compaction }, updates: rewrites{"compaction_update": compactionText}},
	{name: "notices", has: func(c capabilities) bool { return c.Notices }, updates: rewrites{"notice": noticeText}},
	{name: "switches among the options", has: func(c capabilities) bool { return c.BooleanOptions }, updates: rewrites{"config_option_update": withoutSwitches}},
	{has: func(c capabilities) bool { return !c.RejectsForeignPrompts }, updates: rewrites{"user_message_chunk": promptText}, live: true},
	{has: func(c capabilities) bool { return c.ShowsRequestContent && !c.HidesWaitingDiffs }, permission: describeHidden},
	{has: func(c capabilities) bool { return c.ShowsOptionNames }, permission: permissionByKind},
}

// extraAbilities returns the names of features that c has and other lacks.
func extraAbilities(c, other capabilities) (names []string) {
	for _, a := range abilities {
		if a.name != "" && a.has(c) && !a.has(other) {
			names = append(names, a.name)
		}
	}
	return names
}

// adapt returns a message of the session as a client can show it, nil if it is omitted. loads says that the client is loading the session.
func (o *session) adapt(c *Client, message []byte, loads bool) []byte {
	if o.marksOtherReplay(c, message) || o.hidesSubagent(c, message) {
		return nil
	}
	alike := c.abilities == o.agent.abilities // the agent has adapted it already
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

func omit(*session, *Client, updateFields) any { return nil }

func noticeText(_ *session, _ *Client, update updateFields) any {
	return agentText("\n\n" + strings.TrimSpace(rawjson.Unquote(update["title"])+"\n\n"+rawjson.Unquote(update["description"])) + "\n\n")
}

// compactionText says how a compaction ended; a running one is omitted.
func compactionText(_ *session, _ *Client, update updateFields) any {
	switch rawjson.Unquote(update["status"]) {
	case "completed":
		return agentText("\n\nThe conversation was compacted.\n\n")
	case "failed", "cancelled":
		return agentText("\n\nThe conversation was not compacted. " + visible.Text(rawjson.Unquote(update["error"])) + "\n\n")
	}
	return nil
}

// withoutPlanID turns a plan into one without an ID, for a client that does not know plan IDs.
func withoutPlanID(_ *session, _ *Client, update updateFields) any {
	if entries := rawjson.Field(update["plan"], "entries"); entries != nil {
		return map[string]any{"sessionUpdate": "plan", "entries": json.RawMessage(entries)}
	}
	return agentText("\n\n" + textAt(update["plan"], "content") + "\n\n")
}

// promptText turns another client's prompt into a message.
func promptText(_ *session, _ *Client, update updateFields) any {
	text := textAt(update["content"], "text")
	if kind := textAt(update["content"], "type"); kind != "text" {
		text = "[" + kind + "]"
	}
	who := textAt(rawjson.Field(update["_meta"], "droid-acp"), "client")
	return agentText("\n\n**" + markdown.Escaped(who) + ":** " + text + "\n\n")
}

// withoutSwitches removes options of type boolean.
func withoutSwitches(_ *session, _ *Client, fields updateFields) any {
	var all []json.RawMessage
	if json.Unmarshal(fields["configOptions"], &all) == nil {
		all = slices.DeleteFunc(all, func(option json.RawMessage) bool { return textAt(option, "type") == "boolean" })
		fields["configOptions"], _ = json.Marshal(all) // raw JSON encodes
	}
	return fields
}

const (
	// maxOutput is how many trailing bytes of a command's output a client without terminals is shown.
	maxOutput = 16 << 10
	// maxOutputs is the number of commands whose output is kept.
	maxOutputs = 64
)

func withoutTasks(_ *session, _ *Client, update updateFields) any {
	return withoutMeta(update, "jetbrains")
}

// withoutMeta removes fields of _meta from an update of a call; it returns nil if nothing is left.
func withoutMeta(update updateFields, names ...string) any {
	meta := protocol.Fields(update["_meta"])
	for _, name := range names {
		delete(meta, name)
	}
	if delete(update, "_meta"); len(meta) > 0 {
		update["_meta"], _ = json.Marshal(meta) // decoded JSON can be encoded
	}
	if len(update) <= 2 && string(update["sessionUpdate"]) == `"tool_call_update"` {
		return nil
	}
	return update
}

// withoutTerminal adds the output of a call's terminal to its content as text, with the next update that shows the terminal or its end.
func withoutTerminal(o *session, c *Client, update updateFields) any {
	id, meta := o.id+" "+string(update["toolCallId"]), protocol.Fields(update["_meta"])
	if string(update["sessionUpdate"]) == `"tool_call"` {
		delete(c.outputs, id) // a load replays it
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
	_ = json.Unmarshal(update["content"], &content) // an empty list if it is absent
	rest := slices.DeleteFunc(slices.Clone(content), func(item json.RawMessage) bool { return textAt(item, "type") == "terminal" })
	if len(rest) < len(content) || ended {
		if text := c.outputs[id]; text != "" {
			shown, _ := json.Marshal(protocol.TextContent(markdown.Fenced("console", visible.Text(text)))) // a text can be encoded
			rest = append([]json.RawMessage{shown}, rest...)
		}
		if delete(update, "content"); len(rest) > 0 {
			update["content"], _ = json.Marshal(rest)
		}
	}
	return withoutMeta(update, "terminal_info", "terminal_output", "terminal_exit")
}

// updateKind returns the kind of a session/update and the update, "" for another message.
func updateKind(message []byte) (kind string, update []byte) {
	h, ok := jsonrpc.ReadHead(message)
	if !ok || h.Method != "session/update" {
		return "", nil
	}
	update = rawjson.Field(paramsOf(message, h), "update")
	return textAt(update, "sessionUpdate"), update
}

// inTurns reports whether a client may get the message while only its own prompt runs.
func inTurns(message []byte) bool {
	switch kind, _ := updateKind(message); kind {
	case "agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call", "tool_call_update", "plan":
		return true
	}
	return false
}

// offerTo sends the question to a client: unchanged if it has the abilities of the agent's client, otherwise as it can show it.
func (q *question) offerTo(c *Client) {
	line := q.line
	for _, a := range abilities {
		if a.permission == nil || a.has(c.caps) || q.method != askPermission || q.session == nil || q.agent.caps.ClientProfile == c.caps.ClientProfile {
			continue
		}
		instead, before := a.permission(q, c)
		if q.session.sendText(c, before); instead != nil {
			line = instead
		}
	}
	c.send(q.forParent(c, forClient(c, line)))
}

// choice returns the name of the option that the result of a permission request selects, as the user saw it.
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
	_ = json.Unmarshal(rawjson.Field(q.params, "options"), &options) // empty if there are none
	return options
}

// namesOnly reports protocol.OwnMeta's NamesOnly: only the names distinguish the options.
func (q *question) namesOnly() bool {
	own := rawjson.Field(rawjson.Field(rawjson.Field(q.params, "toolCall"), "_meta"), "droid-acp")
	return string(rawjson.Field(own, "namesOnly")) == "true"
}

// permissionByKind rewrites the question for a client that acts on an option's kind and shows no names. If several options allow something
// by the same kind, its user could not choose between them, so it gets none of them.
func permissionByKind(q *question, c *Client) (line []byte, before string) {
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
			many[kind] = 0 // keep the first
		}
	}
	options, _ := json.Marshal(kept) // raw JSON can be encoded
	if len(left) > 0 {
		before = "\n\nThese cannot be chosen here, since this client is not known to show what choices are called: " + strings.Join(left, ", ") + ".\n\n"
	}
	return q.withParam("options", options), before
}

// maxDiff is the combined size in bytes of a file's two texts up to which they are compared.
const maxDiff = 256 << 10

// describeHidden describes in a message before the question the parts of it that the client does not show.
func describeHidden(q *question, c *Client) (_ []byte, before string) {
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
			parts = append(parts, markdown.Code(visible.Line(item.Path)), diffText(item.OldText, item.NewText))
		}
	}
	if parts == nil {
		return nil, ""
	}
	return nil, "\n\n" + markdown.Code(visible.Line(call.Title)) + "\n\n" + strings.Join(parts, "\n\n") + "\n\n"
}

// diffText returns the change of a file as a diff.
func diffText(before, after string) string {
	if len(before)+len(after) > maxDiff {
		return "The change is too long to be shown here."
	}
	var lines []string
	for _, l := range udiff.Lines(before, after) {
		lines = append(lines, l.Text)
	}
	return markdown.Fenced("diff", visible.Text(strings.Join(lines, "\n")))
}
