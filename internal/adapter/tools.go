package adapter

import (
	"encoding/json"
	"path/filepath"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/paths"
	"droid-acp/internal/protocol"
)

// toolKinds maps droid's tool names (0.99 to 0.225) to ACP kinds. Tools that are
// not listed, those of MCP servers among them, are "other".
var toolKinds = map[string]acp.ToolKind{
	"Read":         acp.ToolKindRead,
	"LS":           acp.ToolKindSearch,
	"Glob":         acp.ToolKindSearch,
	"Grep":         acp.ToolKindSearch,
	"Create":       acp.ToolKindEdit,
	"Edit":         acp.ToolKindEdit,
	"MultiEdit":    acp.ToolKindEdit,
	"ApplyPatch":   acp.ToolKindEdit,
	"Execute":      acp.ToolKindExecute,
	"FetchUrl":     acp.ToolKindFetch,
	"WebSearch":    acp.ToolKindFetch,
	"ToolSearch":   acp.ToolKindSearch,
	"TodoWrite":    acp.ToolKindThink,
	"Task":         acp.ToolKindThink,
	"Skill":        acp.ToolKindRead,
	"ExitSpecMode": acp.ToolKindSwitchMode,
}

func toolKind(name string) acp.ToolKind {
	if kind, ok := toolKinds[name]; ok {
		return kind
	}
	return acp.ToolKindOther
}

// toolInput is what the title and the locations of a call are made of. Inputs
// are the model's, so every field may be missing or of another type.
type toolInput struct {
	Command  string
	FilePath string
	Offset   *int32 // the line at which Read begins, counted as the version of droid does
	Pattern  string // several are joined
	URL      string
	Query    string
	Title    string
	Summary  string
	Asks     []string // the questions of AskUser
}

func parseToolInput(raw json.RawMessage) toolInput {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields) // input that is no object has no fields
	text := func(names ...string) string {
		for _, name := range names {
			var s string
			if json.Unmarshal(fields[name], &s) == nil && s != "" {
				return s
			}
		}
		return ""
	}
	in := toolInput{
		Command:  text("command"),
		FilePath: text("file_path", "path", "directory_path", "folder"),
		Pattern:  text("pattern", "patterns"),
		URL:      text("url"),
		Query:    text("query"),
		Title:    text("title"),
		Summary:  text("description", "skill", "toolName", "prompt", "task_id"),
		Asks:     inputQuestions(text("questionnaire")),
	}
	var patterns []string
	if json.Unmarshal(fields["patterns"], &patterns) == nil && in.Pattern == "" {
		in.Pattern = strings.Join(patterns, ", ")
	}
	if json.Unmarshal(fields["offset"], &in.Offset) != nil {
		in.Offset = nil // also of more than 32 bits, which are no line of ACP's
	}
	return in
}

// toolTitle names what a call works on: the whole command of an Execute, else
// the tool with its file, pattern or address.
func toolTitle(name string, in toolInput, cwd string) string {
	object := ""
	switch {
	case name == "Execute" && in.Command != "":
		return in.Command
	case name == "ExitSpecMode":
		return strings.TrimSuffix("Approve plan: "+in.Title, ": ")
	case name == "AskUser" && len(in.Asks) > 0:
		return questionsTitle(in.Asks)
	case in.Pattern != "":
		object = firstLine(in.Pattern)
		if in.FilePath != "" && paths.Absolute(cwd, in.FilePath) != filepath.Clean(cwd) {
			object += " in " + paths.Relative(cwd, in.FilePath)
		}
	case in.FilePath != "":
		object = paths.Relative(cwd, in.FilePath)
	case in.URL != "":
		object = in.URL
	case in.Query != "":
		object = in.Query
	case in.Summary != "":
		object = in.Summary
	}
	label := toolLabel(name)
	if object == "" {
		return label
	}
	return label + " " + firstLine(object)
}

// toolLabel is a tool's name for people: "server: tool" for MCP tools, which
// droid names "server___tool".
func toolLabel(name string) string {
	if server, tool, ok := strings.Cut(name, "___"); ok {
		return server + ": " + tool
	}
	if name == "" {
		return "tool"
	}
	return name
}

// toolLocations are the files that a call touches, as absolute paths, and the
// line at which it reads them. firstLine is the number that droid gives the first
// line. What a tool of an MCP server calls a path need not be a file here.
func toolLocations(name string, in toolInput, cwd string, firstLine int) []protocol.Location {
	if in.FilePath == "" || isMCP(name) {
		return nil
	}
	l := protocol.Location{Path: paths.Absolute(cwd, in.FilePath)}
	if name == "Read" && in.Offset != nil {
		l.Line = max(1, int(*in.Offset)+1-firstLine)
	}
	return []protocol.Location{l}
}

// isMCP tells a tool of an MCP server, which droid names "server___tool".
func isMCP(name string) bool { return strings.Contains(name, "___") }

func firstLine(s string) string {
	line, rest, more := strings.Cut(strings.TrimSpace(s), "\n")
	if more && rest != "" {
		return line + " …"
	}
	return line
}

// resultContent turns a tool result into ACP content: a JSON string, or an
// array of text and image blocks.
func resultContent(raw json.RawMessage) []protocol.ToolContent {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text == "" {
			return nil
		}
		return []protocol.ToolContent{protocol.TextContent(text)}
	}
	var blocks []struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		Source struct {
			Data      string `json:"data"`
			MediaType string `json:"mediaType"`
		} `json:"source"`
	}
	if json.Unmarshal(raw, &blocks) != nil {
		if len(raw) == 0 {
			return nil
		}
		return []protocol.ToolContent{protocol.TextContent(string(raw))}
	}
	var out []protocol.ToolContent
	for _, b := range blocks {
		switch b.Type {
		case "text":
			out = append(out, protocol.TextContent(b.Text))
		case "image":
			out = append(out, protocol.ToolContent{Type: "content",
				Content: &protocol.Content{Type: "image", Data: b.Source.Data, MimeType: b.Source.MediaType}})
		default:
			out = append(out, protocol.TextContent("["+b.Type+"]"))
		}
	}
	return out
}
