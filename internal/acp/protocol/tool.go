package protocol

import (
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"
)

// ToolCall is a tool_call or tool_call_update, by SessionUpdate, or the toolCall of a permission request if that is empty. Fields omitted
// in an update stay unchanged; Content and Locations replace. RawInput and RawOutput are always objects, as clients require although ACP
// allows anything. The result of a droid tool is in Content only, since some clients show both.
type ToolCall struct {
	SessionUpdate string          `json:"sessionUpdate,omitempty"`
	ToolCallID    string          `json:"toolCallId"`
	Title         Line            `json:"title,omitzero"`
	Name          Line            `json:"name,omitzero"` // droid's tool name, only in a tool_call
	Kind          acp.ToolKind    `json:"kind,omitempty"`
	Status        string          `json:"status,omitempty"`
	Content       []ToolContent   `json:"content,omitempty"`
	Locations     []Location      `json:"locations,omitempty"`
	RawInput      json.RawMessage `json:"rawInput,omitempty"`
	RawOutput     json.RawMessage `json:"rawOutput,omitempty"`
	Meta          *ToolMeta       `json:"_meta,omitempty"`
}

// ToolContent is an item of a tool call's content: text or an image (Content), a diff or a terminal.
type ToolContent struct {
	Type    string   `json:"type"`
	Content *Content `json:"content,omitempty"`
	*Diff
	TerminalID string `json:"terminalId,omitempty"`
}

// Diff holds the fields of a diff. OldText is null for a new file: Toad shows no diff without the key.
type Diff struct {
	Path    string  `json:"path"`
	OldText *string `json:"oldText"`
	NewText *string `json:"newText"`
}

// Content is a text or image content block.
type Content struct {
	Type     string  `json:"type"`
	Text     *string `json:"text,omitempty"`
	Data     string  `json:"data,omitempty"`
	MimeType string  `json:"mimeType,omitempty"`
}

// Location is a file that a tool call touches. Path is absolute.
type Location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"` // 1-based
}

// TextContent returns text as tool call content.
func TextContent(text string) ToolContent {
	return ToolContent{Type: "content", Content: &Content{Type: "text", Text: &text}}
}

// DiffContent returns a diff as tool call content. oldText is nil for a new file, newText for a deleted one.
func DiffContent(path string, oldText, newText *string) ToolContent {
	if newText == nil {
		newText = new(string) // ACP requires it; "" stands for a deleted file
	}
	return ToolContent{Type: "diff", Diff: &Diff{path, oldText, newText}}
}

// ToolMeta is the _meta of tool calls. Clients that declare _meta.terminal_output use the terminal_* members to show the output of commands
// that the agent runs itself (Zed). TerminalInfo applies to a tool_call only, the others to updates only.
type ToolMeta struct {
	Own            *AgentToolMeta  `json:"droid-acp,omitempty"`
	TerminalInfo   *TerminalInfo   `json:"terminal_info,omitempty"`
	TerminalOutput *TerminalOutput `json:"terminal_output,omitempty"`
	TerminalExit   *TerminalExit   `json:"terminal_exit,omitempty"`
	JetBrains      *AirMeta        `json:"jetbrains,omitempty"`
}

// AgentToolMeta is for package serve, which shows an agent's requests to several clients.
type AgentToolMeta struct {
	NamesOnly bool `json:"namesOnly,omitempty"` // only clients that show option names may choose among several options of a kind
}

// TerminalInfo announces the terminal of a call and its directory.
type TerminalInfo struct {
	TerminalID string `json:"terminal_id"`
	CWD        string `json:"cwd"`
}

// TerminalOutput is a piece of a command's output.
type TerminalOutput struct {
	TerminalID string `json:"terminal_id"`
	Data       string `json:"data"`
}

// TerminalExit is how a command ended; both fields are nil if unknown.
type TerminalExit struct {
	TerminalID string  `json:"terminal_id"`
	ExitCode   *int    `json:"exit_code"`
	Signal     *string `json:"signal"`
}

// TerminalContent returns the content that shows the terminal of a call. Its ID is the call's.
func TerminalContent(id string) ToolContent { return ToolContent{Type: "terminal", TerminalID: id} }

// Tool call states of ACP v1.
const (
	StatusPending    = "pending"
	StatusInProgress = "in_progress"
	StatusCompleted  = "completed"
	StatusFailed     = "failed"
)
