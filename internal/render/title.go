package render

import (
	"encoding/json"
	"path/filepath"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/text/paths"
	"droid-acp/internal/text/visible"
)

// toolInput is the basis of the title and the locations of a call. The input is the model's, so any field may be missing or of another
// type.
type toolInput struct {
	Command       string
	FilePath      string
	Offset        *int32 // first line of a Read, counted as this droid version does
	Pattern       string // several are joined
	URL           string
	Query         string
	Title         string
	Summary       string
	Questionnaire string // of AskUser
}

func parseToolInput(raw json.RawMessage) toolInput {
	fields := inputFields(raw)
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
		Command:       text("command"),
		FilePath:      text("file_path", "path", "directory_path", "folder"),
		Pattern:       text("pattern", "patterns"),
		URL:           text("url"),
		Query:         text("query"),
		Title:         text("title"),
		Summary:       text("description", "skill", "toolName", "prompt", "task_id"),
		Questionnaire: text("questionnaire"),
	}
	var patterns []string
	if json.Unmarshal(fields["patterns"], &patterns) == nil && in.Pattern == "" {
		in.Pattern = strings.Join(patterns, ", ")
	}
	if json.Unmarshal(fields["offset"], &in.Offset) != nil {
		in.Offset = nil // also if it exceeds ACP's 32 bits
	}
	return in
}

// Title returns the title of a call, after what it works on. Paths inside cwd are relative.
func Title(name string, input json.RawMessage, cwd string) string {
	return toolTitle(name, parseToolInput(input), cwd)
}

// maxTitle bounds the titles of calls, in bytes. Commands are exempt: whoever allows one must see all of it.
const maxTitle = 500

func boundedTitle(title string) string { return shorten(visible.Line(title), maxTitle) }

// toolTitle returns the title according to the table of tools, or else the tool with its pattern, file, URL or other object.
func toolTitle(name string, in toolInput, cwd string) string {
	t := toolOf(name)
	if t.title != nil {
		switch text := t.title(in); {
		case text != "" && t.kind == acp.ToolKindExecute:
			return visible.Exact(text)
		case text != "":
			return boundedTitle(text)
		}
	}
	label, object := Label(name), titleObject(in, cwd)
	if object == "" {
		return boundedTitle(label)
	}
	return boundedTitle(label + " " + FirstLine(object))
}

// titleObject returns what a call works on, "" if its input does not say.
func titleObject(in toolInput, cwd string) string {
	switch {
	case in.Pattern != "":
		object := FirstLine(in.Pattern)
		if in.FilePath != "" && paths.Absolute(cwd, in.FilePath) != filepath.Clean(cwd) {
			object += " in " + fileName(cwd, in.FilePath)
		}
		return object
	case in.FilePath != "":
		return fileName(cwd, in.FilePath)
	case in.URL != "":
		return in.URL
	case in.Query != "":
		return in.Query
	}
	return in.Summary
}

// Label returns a tool's display name: "server: tool" for an MCP tool, which droid names "server___tool".
func Label(name string) string {
	if server, tool, ok := strings.Cut(name, "___"); ok {
		return server + ": " + tool
	}
	if name == "" {
		return "tool"
	}
	return name
}

// toolLocations returns the file of a call as an absolute path, with the line at which it is read. linesFromOne is as in Options.
func toolLocations(name string, in toolInput, cwd string, linesFromOne bool) []protocol.Location {
	t := toolOf(name)
	if in.FilePath == "" || t.remote {
		return nil
	}
	l := protocol.Location{Path: paths.Absolute(cwd, in.FilePath)}
	if t.lines && in.Offset != nil {
		line := int(*in.Offset)
		if !linesFromOne {
			line++
		}
		l.Line = max(1, line)
	}
	return []protocol.Location{l}
}
