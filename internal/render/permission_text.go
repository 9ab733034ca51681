package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// permissionText returns the text of a permission request, safe to display. shown means that the request has diffs.
func permissionText(tool stream.PermissionToolUse, shown bool) string {
	return visible.Text(requestText(tool, shown))
}

// requestText describes what droid asks for: the plan, the command with its risk, what the sandbox blocks. It is "" if the diffs suffice. A
// request of an unknown kind, or without the expected details, is shown as JSON.
func requestText(tool stream.PermissionToolUse, shown bool) string {
	if text := confirmationText(tool); text != "" {
		return text
	}
	switch d := tool.Details; {
	case shown && changesFiles(tool):
		return ""
	case d.PatchContent != "":
		return markdown.Fenced("diff", d.PatchContent)
	default:
		return rawText(d.Raw)
	}
}

// changesFiles reports whether a request is to change files and nothing else.
func changesFiles(tool stream.PermissionToolUse) bool {
	switch tool.Confirmation {
	case "edit", "create", "apply_patch":
		return true
	}
	return false
}

// confirmationText describes a request of a known kind; "" for others, whose JSON is shown. The texts for Droid Shield and missions are
// based on droid's schema; such requests were never recorded.
func confirmationText(tool stream.PermissionToolUse) string {
	d := tool.Details
	switch tool.Confirmation {
	case confirmSpec:
		return planText(tool)
	case "exec":
		return commandText(tool)
	case "mcp_tool":
		return mcpText(tool)
	case "sandbox_violation":
		return sandboxText(d)
	case "droid_shield_violation":
		return shieldText(d)
	case "propose_mission":
		return d.Proposal
	case "exit_mission_planning":
		return missionText(d)
	case "recommend_mission":
		return d.Reason
	case "start_mission_run":
		return fmt.Sprintf("Start the mission. Missions that run already: %d.", d.RunningCount)
	}
	return ""
}

// askedPlan returns the plan to approve, or if the details lack it, the model's.
func askedPlan(tool stream.PermissionToolUse) string {
	if strings.TrimSpace(tool.Details.Plan) != "" {
		return tool.Details.Plan
	}
	return ParsePlan(tool.ToolUse.Input)
}

// planText returns the plan with the names of its options.
func planText(tool stream.PermissionToolUse) string {
	text := askedPlan(tool)
	if names := tool.Details.OptionNames; len(names) > 0 {
		text += "\n\nOptions:\n"
		for i, name := range names {
			text += fmt.Sprintf("%d. %s\n", i+1, name)
		}
	}
	return text
}

func commandText(tool stream.PermissionToolUse) string {
	if tool.Details.FullCommand == "" {
		return ""
	}
	return markdown.Fenced("sh", visible.Exact(tool.Details.FullCommand)) + commandNotes(tool)
}

// commandNotes returns what a request says about a command besides the command itself.
func commandNotes(tool stream.PermissionToolUse) string {
	text := riskText(tool.Details)
	if RunsInBackground(tool.ToolUse.Name, tool.ToolUse.Input) {
		text = "\n\nIt goes on in the background when the turn has ended." + text
	}
	return text
}

// mcpText describes a call of an MCP tool with its complete input.
func mcpText(tool stream.PermissionToolUse) string {
	name := cmp.Or(tool.Details.ToolName, tool.ToolUse.Name)
	text := Label(name)
	var input bytes.Buffer
	if object(tool.ToolUse.Input) != nil && json.Indent(&input, tool.ToolUse.Input, "", "  ") == nil {
		text += "\n\n" + markdown.Fenced("json", input.String())
	}
	return text + riskText(tool.Details)
}

func riskText(d stream.PermissionDetails) string {
	if d.ImpactLevel == "" {
		return ""
	}
	text := "\n\nRisk: " + d.ImpactLevel
	if d.RiskLevelReason != "" {
		text += " (" + verbatim(strings.Join(strings.Fields(d.RiskLevelReason), " ")) + ")" // written by the model
	}
	return text
}

// sandboxVerbs are droid's operation types in words (0.99 to 0.225).
var sandboxVerbs = map[string]string{"read": "read", "write": "write to", "network": "connect to", "tool": "use"}

// sandboxText describes what droid's sandbox blocks, and why.
func sandboxText(d stream.PermissionDetails) string {
	if d.Target == "" {
		return ""
	}
	text := fmt.Sprintf("**Blocked by droid's sandbox:** %s wants to %s\n\n%s", Label(d.Violating), sandboxVerb(d), markdown.Fenced("", visible.Exact(d.Target)))
	if d.Reason != "" {
		text += "\n\n" + d.Reason + "."
	}
	if d.OrgDeny {
		text += "\n\nYour organisation's policy forbids it."
	}
	return text
}

func sandboxVerb(d stream.PermissionDetails) string {
	if verb := sandboxVerbs[d.Operation]; verb != "" {
		return verb
	}
	return strings.TrimSpace("reach (" + d.Operation + ")")
}

// sandboxTitle summarizes it in a line; what is the title of the call.
func sandboxTitle(d stream.PermissionDetails, what string) string {
	return fmt.Sprintf("Blocked by droid's sandbox (%s %s): %s", sandboxVerb(d), visible.Exact(FirstLine(d.Target)), what)
}

// shieldText describes what Droid Shield found in a command that would publish it.
func shieldText(d stream.PermissionDetails) string {
	if d.Command == "" && d.Reason == "" {
		return ""
	}
	text := "**Stopped by Droid Shield:** the command may give secrets away."
	if d.Command != "" {
		text += "\n\n" + markdown.Fenced("sh", visible.Exact(d.Command))
	}
	if d.Reason != "" {
		text += "\n\n" + markdown.Fenced("", d.Reason)
	}
	return text
}

func missionText(d stream.PermissionDetails) string {
	text := d.MissionPlan
	if text != "" && d.Validation != "" {
		text += "\n\n**How it is checked**\n\n" + d.Validation
	}
	return text
}

// rawText returns droid's JSON for users.
func rawText(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return markdown.Fenced("json", out.String())
}

// alwaysText describes effects of the options that outlast the call, unless their names do: a client without names has buttons "always" and
// "once", and no label of droid says that the choice is saved to a file. It may be "".
func alwaysText(tools []stream.PermissionToolUse, options []protocol.PermissionOption, client protocol.ClientProfile, mode stream.Mode) string {
	var lines []string
	add := func(text string, values ...string) {
		var labels []string
		for _, o := range options {
			if label := optionShown(o, client); slices.Contains(values, o.OptionID) && !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
		}
		if len(labels) > 0 {
			lines = append(lines, strings.Join(labels, ", ")+text)
		}
	}
	sets := func(text string, value string) {
		if !slices.ContainsFunc(options, func(o protocol.PermissionOption) bool { return o.OptionID == value && namesLevel(o) }) {
			add(text, value)
		}
	}
	switch {
	case client.AnswersByPolicy: // nobody reads it
	case all(tools, "sandbox_violation"):
		add(": kept in droid's settings.json, for all sessions.", "proceed_always", "proceed_always_file")
	case all(tools, confirmSpec):
		sets(" switches to "+stream.ModeNormal.Title()+".", stream.OptionOnce)
		for _, level := range autonomyLevels {
			sets(" switches to "+stream.Mode("auto-"+level).Title()+".", "proceed_auto_run_"+level)
		}
	default:
		sets(raises(highestRisk(tools), mode), "proceed_always")
		add(": kept in droid's mcp.json, for all sessions.", "proceed_always_tools", "proceed_always_server")
	}
	if len(lines) == 1 {
		return lines[0]
	}
	list := ""
	for _, line := range lines {
		list += "- " + line + "\n"
	}
	return list
}

// optionShown returns what the user sees of an option: its name, or the client's word for its kind.
func optionShown(o protocol.PermissionOption, client protocol.ClientProfile) string {
	label, _, _ := strings.Cut(string(o.Name), " (")
	switch {
	case client.MayShowOptionNames():
	case o.Kind == acp.PermissionOptionKindAllowAlways:
		label = "Always"
	default:
		label = "Once"
	}
	return "“" + label + "”"
}

// raises describes proceed_always for tools of this risk. In spec mode it raises the autonomy, but the mode stays.
func raises(risk string, mode stream.Mode) string {
	switch {
	case risk == "":
		return " allows more unasked in this session."
	case mode == stream.ModeSpec:
		return " lets " + map[string]string{"low": "edits and reads", "medium": "reversible commands", "high": "all commands"}[risk] + " run unasked in this session."
	}
	return " also switches to " + stream.Mode("auto-"+risk).Title() + "."
}

func all(tools []stream.PermissionToolUse, confirmation string) bool {
	return !slices.ContainsFunc(tools, func(t stream.PermissionToolUse) bool { return t.Confirmation != confirmation })
}

// autonomyLevels are droid's levels above "off", in ascending order.
var autonomyLevels = []string{"low", "medium", "high"}

// highestRisk returns the autonomy level that all tools need: low for edits, the impact of commands and MCP tools (0.99 to 0.225). It is ""
// if droid reports none, and for other kinds of requests.
func highestRisk(tools []stream.PermissionToolUse) string {
	highest := 0
	for _, t := range tools {
		risk := ""
		switch {
		case changesFiles(t):
			risk = "low"
		case t.Confirmation == "exec", t.Confirmation == "mcp_tool":
			risk = t.Details.ImpactLevel
		}
		i := slices.Index(autonomyLevels, risk)
		if i < 0 {
			return ""
		}
		highest = max(highest, i)
	}
	return autonomyLevels[highest]
}
