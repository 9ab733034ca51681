package trace

import (
	"encoding/json"
	"slices"

	"droid-acp/internal/quirks"
)

// links find out which lines to the editor were sent because of which lines of droid: those that concern the same text, tool, question or
// turn, in order.
type links struct {
	pending map[string][]*cause // by key, that nothing was sent for
	last    map[string]*Row     // by key, the line of droid that something was sent for
}

// cause is a line of droid with an event that the editor may be sent something for.
type cause struct {
	row  *Row
	used bool
}

func newLinks() *links { return &links{map[string][]*cause{}, map[string]*Row{}} }

// caused notes an event of a line of droid.
func (l *links) caused(row *Row, keys []string) {
	c := &cause{row: row}
	for _, key := range keys {
		l.pending[key] = append(l.pending[key], c)
	}
}

// sent finds what a line to the editor was sent for, by the first of its keys that leads to something.
func (l *links) sent(row *Row, keys []string) {
	for _, key := range keys {
		found := false
		for _, c := range l.pending[key] {
			if !c.used {
				c.used, found = true, true
				l.link(c.row, row)
				l.last[key] = c.row
			}
		}
		delete(l.pending, key)
		if found {
			return
		}
	}
	for _, key := range keys {
		if cause := l.last[key]; cause != nil {
			l.link(cause, row)
			return
		}
	}
}

func (l *links) link(cause, sent *Row) {
	if !slices.Contains(cause.Rows, sent) {
		cause.Rows = append(cause.Rows, sent)
		sent.Rows = append(sent.Rows, cause)
	}
}

// keysOfEvent returns what an event is about, as keysOfMessage does for what the editor is sent for it.
func keysOfEvent(ev quirks.Event) []string {
	switch ev := ev.(type) {
	case quirks.Text:
		return []string{"text " + ev.MessageID, "text"}
	case quirks.TextRestarted:
		return []string{"text " + ev.MessageID, "text"}
	case quirks.UserText:
		return []string{"text " + ev.MessageID, "text"}
	case quirks.Notice:
		return []string{"text"}
	case quirks.ToolStarted:
		return []string{"tool " + ev.ID}
	case quirks.ToolInput:
		return []string{"tool " + ev.ID}
	case quirks.ToolRunning:
		return []string{"tool " + ev.ID}
	case quirks.ToolProgress:
		return []string{"tool " + ev.ID}
	case quirks.ToolEnded:
		return []string{"tool " + ev.ID}
	case quirks.PermissionRequested:
		var keys []string
		for _, u := range ev.Tools {
			keys = append(keys, "request "+u.ToolUse.ID)
		}
		return append(keys, "request")
	case quirks.QuestionRequested:
		return []string{"request " + ev.ToolID, "request"}
	case quirks.UsageChanged:
		return []string{"usage"}
	case quirks.TitleChanged:
		return []string{"title"}
	case quirks.SettingsChanged:
		return []string{"settings"}
	case quirks.TurnEnded:
		return []string{"end"}
	}
	return nil
}

// keysOfMessage returns what a message to the editor is about.
func keysOfMessage(m message) []string {
	var params struct {
		Update struct {
			Kind       string `json:"sessionUpdate"`
			MessageID  string `json:"messageId"`
			ToolCallID string `json:"toolCallId"`
		} `json:"update"`
		ToolCall struct {
			ToolCallID string `json:"toolCallId"`
		} `json:"toolCall"`
		StopReason string `json:"stopReason"`
	}
	body := m.Params
	if m.Method == "" {
		body = m.Result
	}
	if json.Unmarshal(body, &params) != nil {
		return nil
	}
	switch u := params.Update; u.Kind {
	case "agent_message_chunk", "agent_thought_chunk", "user_message_chunk":
		return []string{"text " + u.MessageID, "text"}
	case "tool_call", "tool_call_update":
		return []string{"tool " + u.ToolCallID}
	case "usage_update":
		return []string{"usage"}
	case "session_info_update":
		return []string{"title"}
	case "current_mode_update", "config_option_update", "current_model_update":
		return []string{"settings"}
	}
	switch {
	case params.StopReason != "":
		return []string{"end"}
	case m.Method != "" && m.ID != nil:
		return []string{"request " + params.ToolCall.ToolCallID, "request"}
	}
	return nil
}
