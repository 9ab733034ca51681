package smoke

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"droid-acp/internal/visible"
)

// viewer shows a conversation: raw protocol lines, or text a person can read. What
// others wrote comes out safe to show, and never at the margin, where this
// program's own words stand.
type viewer struct {
	w     io.Writer
	raw   bool
	block string            // what is being printed: "agent", "thought", or "" at a line's beginning
	calls map[string]string // titles of the tool calls, by id
}

// update is a session/update as far as it is shown.
type update struct {
	Update struct {
		SessionUpdate string `json:"sessionUpdate"`
		Content       any    `json:"content"` // an object in chunks, a list in tool calls
		ToolCallID    string `json:"toolCallId"`
		Title         string `json:"title"`
		Status        string `json:"status"`
		CurrentModeID string `json:"currentModeId"`
	} `json:"update"`
}

// line shows a protocol line in raw form.
func (v *viewer) line(line []byte) {
	if v.raw {
		_, _ = io.WriteString(v.w, visible.JSON(string(line))) // a closed terminal is no reason to stop
	}
}

func (v *viewer) print(text string) {
	if !v.raw {
		_, _ = io.WriteString(v.w, visible.Text(text))
	}
}

// entry ends a running text block and prints one line of its own.
func (v *viewer) entry(label, text string) {
	v.end()
	v.print(fmt.Sprintf("%-7s | %s\n", label, visible.Line(text)))
}

// details prints text below an entry.
func (v *viewer) details(text string) {
	if text != "" {
		v.end()
		v.print(margin + "  " + inMargin(strings.TrimRight(text, "\n"), margin+"  ") + "\n")
	}
}

// margin stands before the lines of a text but the first.
const margin = "        | "

func inMargin(text, margin string) string { return strings.ReplaceAll(text, "\n", "\n"+margin) }

// end ends a running text block.
func (v *viewer) end() {
	if v.block != "" {
		v.print("\n")
		v.block = ""
	}
}

func (v *viewer) prompt(text string) {
	v.chunk("you", text)
	v.end()
}

// chunk continues a text block, or begins one.
func (v *viewer) chunk(block, text string) {
	if v.block != block {
		v.end()
		v.print(fmt.Sprintf("%-7s | ", block))
		v.block = block
	}
	v.print(inMargin(text, margin))
}

func (v *viewer) update(params json.RawMessage) {
	var u update
	if err := json.Unmarshal(params, &u); err != nil {
		v.entry("?", string(params))
		return
	}
	switch up := u.Update; up.SessionUpdate {
	case "agent_message_chunk":
		v.chunk("agent", textOf(up.Content))
	case "agent_thought_chunk":
		v.chunk("thought", textOf(up.Content))
	case "tool_call":
		v.title(up.ToolCallID, up.Title)
		v.entry("tool", withStatus(up.Title, up.Status))
	case "tool_call_update":
		v.toolUpdate(up.ToolCallID, up.Title, up.Status, textOf(up.Content))
	case "current_mode_update":
		v.entry("mode", up.CurrentModeID)
	case "session_info_update":
		v.entry("title", up.Title)
	}
}

// title notes the title of a call, and returns the one it has.
func (v *viewer) title(id, title string) string {
	if v.calls == nil {
		v.calls = make(map[string]string)
	}
	if title != "" {
		v.calls[id] = title
	}
	return v.calls[id]
}

func (v *viewer) toolUpdate(id, title, status, text string) {
	known := v.title(id, title)
	switch {
	case status != "":
		v.entry("tool", withStatus(known, status))
	case title != "":
		v.entry("tool", title)
	}
	v.details(text)
}

func withStatus(title, status string) string { return title + " [" + status + "]" }

// permission shows what was asked, with the plan, command or change it is about,
// and what was answered.
func (v *viewer) permission(p permissionRequest, answer string) {
	var call struct {
		Title   string `json:"title"`
		Content any    `json:"content"`
	}
	_ = json.Unmarshal(p.ToolCall, &call) // an unreadable call is shown without details
	v.entry("ask", call.Title)
	v.details(textOf(call.Content))
	for _, o := range p.Options {
		v.entry("", "- "+o.Name)
	}
	v.entry("answer", answer)
}

// textOf collects the text of a content block, or of a list of tool contents.
func textOf(content any) string {
	switch c := content.(type) {
	case map[string]any:
		if text, ok := c["text"].(string); ok {
			return text
		}
		if c["type"] == "diff" {
			return fmt.Sprintf("--- %v\n%v\n+++\n%v", c["path"], orEmpty(c["oldText"]), orEmpty(c["newText"]))
		}
		return textOf(c["content"])
	case []any:
		var parts []string
		for _, item := range c {
			if text := textOf(item); text != "" {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, "\n")
	}
	return ""
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}
