package adapter

import (
	"fmt"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/visible"
)

// showBatch shows several tools that droid asks about at once. ACP asks about one
// call, so the request gets an entry of its own: in that of one of them the others
// would stand, too. closeUp ends that entry, and gives the calls the diffs that it
// had.
func (s *Session) showBatch(ev quirks.PermissionAsked) (call protocol.ToolCall, closeUp func()) {
	titles := make([]string, 0, len(ev.Tools))
	call = protocol.ToolCall{ToolCallID: batchID(ev.RequestID), Kind: acp.ToolKindOther, Status: protocol.StatusPending} // it is no command or edit itself
	var own []protocol.ToolCall
	for _, tool := range ev.Tools {
		one := s.permissionCall(tool)
		titles = append(titles, firstLine(one.Title))
		call.Content = append(call.Content, protocol.TextContent("**"+firstLine(one.Title)+"**"))
		call.Content = append(call.Content, one.Content...)
		call.Locations = append(call.Locations, one.Locations...)
		if s.views.get(one.ToolCallID).edit != nil {
			own = append(own, protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: one.ToolCallID,
				Content: one.Content, Locations: one.Locations})
		}
	}
	call.Title = fmt.Sprintf("%d actions: %s", len(titles), strings.Join(titles, "; "))
	s.send(protocol.ToolCall{SessionUpdate: "tool_call", ToolCallID: call.ToolCallID, Title: call.Title, Kind: call.Kind, Status: call.Status})
	return call, func() {
		s.send(protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: call.ToolCallID, Status: protocol.StatusCompleted,
			Title: "Asked about " + call.Title, Content: []protocol.ToolContent{protocol.TextContent(visible.Text(strings.Join(titles, "\n\n")))}})
		for _, update := range own {
			s.send(update)
		}
	}
}

// batchID is the id of the entry of a request for several tools.
func batchID(requestID string) string { return "ask-" + requestID }
