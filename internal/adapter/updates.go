package adapter

import (
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"
)

// The structs below are what the adapter sends often, or what the SDK's types
// cannot express: those encode through two maps, turn numbers of raw input into
// floats and drop empty lists (field notes acp.md, defects 7 to 10).

// sessionNotification is the params of session/update (ACP v1).
type sessionNotification struct {
	SessionID string `json:"sessionId"`
	Update    any    `json:"update"`
}

// toolCall is a tool_call or tool_call_update, by SessionUpdate, or the
// toolCall of a permission request, where SessionUpdate is empty. Fields left
// out of an update stay as they are; Content and Locations replace. RawInput and
// RawOutput are objects, which clients insist on where ACP allows anything; what a
// tool of droid's answers is in Content and not here as well, since there are
// clients that show both.
type toolCall struct {
	SessionUpdate string          `json:"sessionUpdate,omitempty"`
	ToolCallID    string          `json:"toolCallId"`
	Title         string          `json:"title,omitempty"`
	Kind          acp.ToolKind    `json:"kind,omitempty"`
	Status        string          `json:"status,omitempty"`
	Content       []toolContent   `json:"content,omitempty"`
	Locations     []location      `json:"locations,omitempty"`
	RawInput      json.RawMessage `json:"rawInput,omitempty"`
	RawOutput     json.RawMessage `json:"rawOutput,omitempty"`
	Meta          *toolMeta       `json:"_meta,omitempty"`
}

// toolContent is one item of a tool call's content: text or an image (Content),
// a diff or a terminal.
type toolContent struct {
	Type    string   `json:"type"`
	Content *content `json:"content,omitempty"`
	*Diff
	TerminalID string `json:"terminalId,omitempty"`
}

// Diff is what a diff has beside its type. OldText is null for a new file: Toad
// shows no diff without the key.
type Diff struct {
	Path    string  `json:"path"`
	OldText *string `json:"oldText"`
	NewText *string `json:"newText"`
}

// content is a text or image content block.
type content struct {
	Type     string  `json:"type"`
	Text     *string `json:"text,omitempty"`
	Data     string  `json:"data,omitempty"`
	MimeType string  `json:"mimeType,omitempty"`
}

// location is a file that a tool call touches. Path is absolute.
type location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"` // from 1
}

func textContent(text string) toolContent {
	return toolContent{Type: "content", Content: &content{Type: "text", Text: &text}}
}

func diffContent(path string, oldText, newText *string) toolContent {
	if newText == nil {
		newText = new(string) // ACP requires it; a file without content is empty
	}
	return toolContent{Type: "diff", Diff: &Diff{path, oldText, newText}}
}

// currentModeUpdate is current_mode_update.
type currentModeUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	CurrentModeID string `json:"currentModeId"`
}

// sessionInfoUpdate is session_info_update.
type sessionInfoUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Title         string `json:"title"`
}

// sessionMode and sessionModes are the modes of a session/new response.
type sessionMode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type sessionModes struct {
	CurrentModeID  string        `json:"currentModeId"`
	AvailableModes []sessionMode `json:"availableModes"`
}

// permissionOption is one button of a permission request.
type permissionOption struct {
	OptionID string                   `json:"optionId"`
	Name     string                   `json:"name"`
	Kind     acp.PermissionOptionKind `json:"kind"`
}

// permissionParams is the params of session/request_permission.
type permissionParams struct {
	SessionID string             `json:"sessionId"`
	ToolCall  toolCall           `json:"toolCall"`
	Options   []permissionOption `json:"options"`
}

// permissionResult is the client's answer to it.
type permissionResult struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId"`
	} `json:"outcome"`
}
