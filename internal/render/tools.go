package render

import (
	"strings"

	acp "github.com/coder/acp-go-sdk"
)

// toolSpec describes how the calls of one of droid's tools are shown. The zero value is the default.
type toolSpec struct {
	kind   acp.ToolKind
	title  func(in toolInput) string   // nil or "" for the default title
	view   func(c *shownCall) toolView // nil for shownCall
	edits  bool                        // changes files, which must be read for the diffs
	lines  bool                        // the input has the first line to read
	remote bool                        // paths in the input need not refer to this machine
}

// tools are droid's tools (0.99 to 0.225) by name. A new kind of view needs a new file and an entry here.
var tools = map[string]toolSpec{
	"Read":         {kind: acp.ToolKindRead, lines: true},
	"LS":           {kind: acp.ToolKindSearch},
	"Glob":         {kind: acp.ToolKindSearch},
	"Grep":         {kind: acp.ToolKindSearch},
	"Create":       {kind: acp.ToolKindEdit, view: newEdit, edits: true},
	"Edit":         {kind: acp.ToolKindEdit, view: newEdit, edits: true},
	"MultiEdit":    {kind: acp.ToolKindEdit, view: newEdit, edits: true},
	"ApplyPatch":   {kind: acp.ToolKindEdit, view: newEdit, edits: true},
	"Execute":      {kind: acp.ToolKindExecute, title: commandTitle, view: newCommand},
	"FetchUrl":     {kind: acp.ToolKindFetch},
	"WebSearch":    {kind: acp.ToolKindFetch},
	"ToolSearch":   {kind: acp.ToolKindSearch},
	"TodoWrite":    {kind: acp.ToolKindThink, view: newTodo},
	"Task":         {kind: acp.ToolKindOther, view: newTask},
	"Skill":        {kind: acp.ToolKindRead},
	"ExitSpecMode": {kind: acp.ToolKindSwitchMode, title: planTitle, view: newPlan},
	"AskUser":      {kind: acp.ToolKindOther, title: askTitle, view: newAskUser},
}

// toolOf returns how a tool is shown: from the table, or the default for MCP tools, which droid names "server___tool", and for unknown
// ones.
func toolOf(name string) toolSpec {
	if t, known := tools[name]; known {
		return t
	}
	return toolSpec{kind: acp.ToolKindOther, remote: strings.Contains(name, "___")}
}
