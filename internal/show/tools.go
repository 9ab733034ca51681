package show

import (
	"strings"

	acp "github.com/coder/acp-go-sdk"
)

// tool is how the calls of one of droid's tools are shown. What is left out is as for
// most tools.
type tool struct {
	kind  acp.ToolKind
	title func(in toolInput) string   // "" for the title that most have
	view  func(c *shownCall) toolView // nil: shownCall shows it
	edits bool                        // its calls change files, which have to be read for the diffs
	lines bool                        // its input has the line at which it begins to read
	far   bool                        // what its input calls a path need not be a file of this machine
}

// tools are droid's tools (0.99 to 0.225) by name. To give a tool a view of its own,
// write a file for it and name it here.
var tools = map[string]tool{
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

// toolOf finds how a tool is shown: as the table says, as a tool of an MCP server, which
// droid names "server___tool", or as one that nobody knows.
func toolOf(name string) tool {
	if t, known := tools[name]; known {
		return t
	}
	return tool{kind: acp.ToolKindOther, far: strings.Contains(name, "___")}
}
