package adapter

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"droid-acp/internal/droid"
	"droid-acp/internal/quirks"
)

// showBefore shows what the user is about to decide on outside of the request, for
// clients that show no more of that than its title: in the entry of the call, and
// as a message where that is not known to show either.
func (s *Session) showBefore(ev quirks.PermissionAsked, call toolCall) {
	client := s.agent.client
	if client.requestContent {
		return
	}
	call.SessionUpdate = "tool_call_update"
	s.send(call)
	if client.callContent {
		return
	}
	for _, tool := range ev.Tools {
		if text := s.messageText(tool); text != "" {
			s.say(text)
		}
	}
}

// messageText is what no title says of a tool that waits for permission: a
// command is its title, and a diff is for editors that show diffs.
func (s *Session) messageText(tool droid.PermissionToolUse) string {
	if tool.Confirmation == "exec" || changesFiles(tool) {
		return ""
	}
	return strings.TrimSpace(permissionText(tool, false))
}

// say tells the user something that they have to see, as a message of its own:
// thoughts may be folded away.
func (s *Session) say(text string) { s.sendText(uuid.NewString(), text+"\n\n", false) }

// askedText is permissionText without a command that the client shows from the
// input of the call by itself.
func (s *Session) askedText(tool droid.PermissionToolUse, shown bool) string {
	d, input := tool.Details, tool.ToolUse.Input
	if s.agent.client.ownCommand && tool.Confirmation == "exec" && d.FullCommand != "" &&
		d.FullCommand == parseToolInput(input).Command && len(input) <= maxRaw {
		return strings.TrimSpace(riskText(d))
	}
	return permissionText(tool, shown)
}

// permissionTitle says what a request is about, as far as a line can: many clients
// show no more. other is the title of the call.
func permissionTitle(tool droid.PermissionToolUse, other string) string {
	switch d := tool.Details; {
	case tool.Confirmation == "exec" && d.FullCommand != "":
		return d.FullCommand // droid's word on what will run
	case tool.Confirmation == confirmSpec && d.Title != "":
		return "Approve plan: " + d.Title
	case tool.Confirmation == "sandbox_violation" && d.Target != "":
		return sandboxTitle(d, other)
	case tool.Confirmation == "mcp_tool":
		return strings.TrimSpace(other + " " + shorten(compactJSON(tool.ToolUse.Input), maxTitleInput))
	}
	return other
}

// maxTitleInput bounds the input of an MCP tool in a title, in characters.
const maxTitleInput = 200

// compactJSON is an object on one line, "" for what is none.
func compactJSON(raw json.RawMessage) string {
	var out bytes.Buffer
	if object(raw) == nil || json.Compact(&out, raw) != nil {
		return ""
	}
	return out.String()
}
