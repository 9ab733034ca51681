package serve

import (
	"bytes"
	"encoding/json"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/rawjson"
	"droid-acp/internal/text/udiff"
	"droid-acp/internal/text/visible"
)

// An agent says what its own client can show. What another client is shown of its sessions is made
// fit for that one here.

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

// asShown is a message as the client can show it while it does not load the session.
func (c *Client) asShown(message []byte) []byte {
	if !c.caps.RejectsForeignPrompts || !bytes.Contains(message, []byte(`"user_message_chunk"`)) {
		return message
	}
	kind, update := updateKind(message)
	if kind != "user_message_chunk" {
		return message
	}
	content := rawjson.Field(update, "content")
	text := textAt(content, "text")
	if textAt(content, "type") != "text" {
		text = "[" + textAt(content, "type") + "]"
	}
	who := textAt(rawjson.Field(rawjson.Field(update, "_meta"), "droid-acp"), "client")
	h, _ := jsonrpc.ReadHead(message)
	line, err := encodeUpdate(textAt(paramsOf(message, h), "sessionId"), ownWords("\n\n**"+markdown.Escaped(who)+":** "+text+"\n\n"))
	if err != nil {
		return message
	}
	return line[:len(line)-1]
}

// put sends the question to a client: one that shows what the agent's does gets it as it is, another one as it
// can show it.
func (q *question) put(c *Client) {
	line := q.line
	if q.method == askPermission && q.session != nil && q.agent.caps.ClientProfile != c.caps.ClientProfile {
		if text := q.unseen(c); text != "" {
			q.session.sayTo(c, text)
		}
		if !c.caps.MayShowOptionNames() || !c.caps.ShowsOptionNames && q.namesOnly() {
			var left []string
			if line, left = q.byKind(); len(left) > 0 {
				q.session.sayTo(c, "\n\nThese cannot be chosen here, since this client is not known to show what choices are called: "+strings.Join(left, ", ")+".\n\n")
			}
		}
	}
	c.send(line)
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

// namesOnly is protocol.AgentToolMeta's.
func (q *question) namesOnly() bool {
	own := rawjson.Field(rawjson.Field(rawjson.Field(q.params, "toolCall"), "_meta"), "droid-acp")
	return string(rawjson.Field(own, "namesOnly")) == "true"
}

// byKind is the question for a client that acts on the kind of an option and shows no names: of several that allow
// something by the same kind its user could not say which, so it has none of them; left are their names.
func (q *question) byKind() (line []byte, left []string) {
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
	return q.with("options", options), left
}

// showsDiff reports whether a client shows a diff among the content of a request.
func showsDiff(c protocol.ClientCapabilities, first bool) bool {
	return !c.HidesWaitingDiffs && (c.ShowsRequestContent || c.ShowsLeadingDiff && first)
}

// maxDiff is how many bytes of a file's two texts are compared to be shown.
const maxDiff = 256 << 10

// unseen is what the question has and the client does not show, to be said before.
func (q *question) unseen(c *Client) string {
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
		return ""
	}
	var parts []string
	for i, item := range call.Content {
		switch {
		case item.Type == "content" && !c.caps.ShowsRequestContent && item.Content.Text != "":
			parts = append(parts, item.Content.Text)
		case item.Type == "diff" && !showsDiff(c.caps, i == 0):
			parts = append(parts, markdown.Code(visible.Line(item.Path)), changed(item.OldText, item.NewText))
		}
	}
	if parts == nil {
		return ""
	}
	return "\n\n" + markdown.Code(visible.Line(call.Title)) + "\n\n" + strings.Join(parts, "\n\n") + "\n\n"
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
