package adapter

import (
	"encoding/json"
	"path/filepath"
	"strings"

	acp "github.com/coder/acp-go-sdk"
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
	Pattern  string
	URL      string
	Query    string
	Title    string
	Summary  string
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
	return toolInput{
		Command:  text("command"),
		FilePath: text("file_path", "path", "directory_path"),
		Pattern:  text("pattern"),
		URL:      text("url"),
		Query:    text("query"),
		Title:    text("title"),
		Summary:  text("description", "skill"),
	}
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
	case in.Pattern != "":
		object = in.Pattern
	case in.FilePath != "":
		object = relative(cwd, in.FilePath)
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

// toolLocations are the files that a call touches, as absolute paths.
func toolLocations(in toolInput, cwd string) []location {
	if in.FilePath == "" {
		return nil
	}
	return []location{{Path: absolute(cwd, in.FilePath)}}
}

func absolute(cwd, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(cwd, path)
}

// relative shortens a path inside the session's directory.
func relative(cwd, path string) string {
	rel, err := filepath.Rel(cwd, absolute(cwd, path))
	if err != nil || strings.HasPrefix(rel, "..") {
		return path
	}
	return rel
}

func firstLine(s string) string {
	line, rest, more := strings.Cut(strings.TrimSpace(s), "\n")
	if more && rest != "" {
		return line + " …"
	}
	return line
}

// resultContent turns a tool result into ACP content: a JSON string, or an
// array of text and image blocks.
func resultContent(raw json.RawMessage) []toolContent {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text == "" {
			return nil
		}
		return []toolContent{textContent(text)}
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
		return []toolContent{textContent(string(raw))}
	}
	var out []toolContent
	for _, b := range blocks {
		switch b.Type {
		case "text":
			out = append(out, textContent(b.Text))
		case "image":
			out = append(out, toolContent{Type: "content",
				Content: &content{Type: "image", Data: b.Source.Data, MimeType: b.Source.MediaType}})
		default:
			out = append(out, textContent("["+b.Type+"]"))
		}
	}
	return out
}
