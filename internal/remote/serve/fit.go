package serve

import (
	"encoding/json"
	"slices"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/rawjson"
	"droid-acp/internal/text/visible"
)

// An agent sends what the client can show for which it was started. For a client that joins and declares less, what that
// cannot show is left out or rewritten.

// fit is a message of the session for a client; nil where it is left out.
func (o *session) fit(c *Client, message []byte) []byte {
	if c.abilities == o.agent.abilities {
		return message
	}
	kind, update := updateKind(message)
	var shown any
	switch can := c.caps; {
	case kind == "notice" && !can.Notices:
		shown = ownWords("\n\n" + strings.TrimSpace(textAt(update, "title")+"\n\n"+textAt(update, "description")) + "\n\n")
	case kind == "compaction_update" && !can.Compaction:
		if text := compacted(update); text != "" {
			shown = ownWords(text)
		}
	case kind == "plan_update" && !can.Plans:
		shown = withoutID(rawjson.Field(update, "plan"))
	case strings.HasPrefix(kind, "async_task_") && !can.AsyncTasks:
	case kind == "config_option_update" && !can.BooleanOptions:
		fields := protocol.Fields(update)
		fields["configOptions"] = withoutSwitches(fields["configOptions"])
		shown = fields
	case strings.HasPrefix(kind, "tool_call") && !(can.TerminalOutput && can.AsyncTasks):
		if fields := c.fitCall(o.id, protocol.Fields(update)); fields != nil {
			shown = fields
		}
	default:
		return message
	}
	if shown == nil {
		return nil
	}
	line, err := o.encode(shown)
	if err != nil {
		return nil
	}
	return line[:len(line)-1]
}

// compacted says how a compaction ended, "" for one that runs.
func compacted(update []byte) string {
	switch textAt(update, "status") {
	case "completed":
		return "\n\nThe conversation was compacted.\n\n"
	case "failed", "cancelled":
		return "\n\nThe conversation was not compacted. " + visible.Text(textAt(update, "error")) + "\n\n"
	}
	return ""
}

// withoutID is a plan for a client that knows no plans by their ids.
func withoutID(plan []byte) any {
	if entries := rawjson.Field(plan, "entries"); entries != nil {
		return map[string]any{"sessionUpdate": "plan", "entries": json.RawMessage(entries)}
	}
	return ownWords("\n\n" + textAt(plan, "content") + "\n\n")
}

// withoutSwitches are options but for those of the type boolean.
func withoutSwitches(options json.RawMessage) json.RawMessage {
	var all []json.RawMessage
	if json.Unmarshal(options, &all) != nil {
		return options
	}
	all = slices.DeleteFunc(all, func(option json.RawMessage) bool { return textAt(option, "type") == "boolean" })
	rest, _ := json.Marshal(all) // raw JSON encodes
	return rest
}

const (
	// maxOutput is how many bytes at the end of a command's output a client is shown that shows no terminals.
	maxOutput = 16 << 10
	// maxOutputs is for how many commands that is kept.
	maxOutputs = 64
)

// fitCall is an update of a call without what the client does not declare; nil where nothing is left.
func (c *Client) fitCall(session string, update map[string]json.RawMessage) map[string]json.RawMessage {
	meta := protocol.Fields(update["_meta"])
	if !c.caps.AsyncTasks {
		delete(meta, "jetbrains")
	}
	if !c.caps.TerminalOutput {
		c.withoutTerminal(session, update, meta)
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
func (c *Client) withoutTerminal(session string, update, meta map[string]json.RawMessage) {
	id := session + " " + string(update["toolCallId"])
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
	for _, name := range []string{"terminal_info", "terminal_output", "terminal_exit"} {
		delete(meta, name)
	}
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
}
