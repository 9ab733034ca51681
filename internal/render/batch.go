package render

import (
	"fmt"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
)

// showBatch shows one permission request for several tools (quirk 18). ACP's request has a single call, so it gets a separate entry;
// otherwise the other tools would appear in the entry of one of them. after ends that entry and restores the diffs of the calls.
func (v *View) showBatch(ev quirks.PermissionRequested) (shown protocol.ToolCall, after []protocol.ToolCall) {
	var titles, named []string
	shown = protocol.ToolCall{ToolCallID: "ask-" + ev.RequestID, Kind: acp.ToolKindOther, Status: protocol.StatusPending} // neither a command nor an edit itself
	var own []protocol.ToolCall
	for _, tool := range ev.Tools {
		one, keep := v.permissionCall(tool, false)
		title := FirstLine(string(one.Title))
		titles = append(titles, title)
		named = append(named, verbatim(title))
		shown.Content = append(shown.Content, protocol.TextContent("**"+verbatim(title)+"**"))
		shown.Content = append(shown.Content, one.Content...)
		shown.Locations = append(shown.Locations, one.Locations...)
		if keep {
			own = append(own, protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: one.ToolCallID,
				Content: one.Content, Locations: one.Locations})
		}
	}
	shown.Title = protocol.Line(fmt.Sprintf("%d actions: %s", len(titles), strings.Join(titles, "; ")))
	v.send(protocol.ToolCall{SessionUpdate: "tool_call", ToolCallID: shown.ToolCallID, Title: shown.Title, Kind: shown.Kind, Status: shown.Status})
	end := protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: shown.ToolCallID, Status: protocol.StatusCompleted,
		Title: "Asked about " + shown.Title, Content: []protocol.ToolContent{protocol.TextContent(strings.Join(named, "\n\n"))}}
	return shown, append([]protocol.ToolCall{end}, own...)
}
