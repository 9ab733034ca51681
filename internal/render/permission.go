package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// Permission is a permission request of droid as shown to the user, and the Dialog that yields a Decision.
type Permission struct {
	Before  []Output // to be sent before asking
	After   []Output // to be sent after asking, whatever the outcome
	Refused bool     // do not ask: the answer is "cancel"

	permissionDialog
}

// Decision is the user's answer to a permission request.
type Decision struct {
	Option string // droid's option; stream.OptionCancel unless the user chose clearly
	Plan   string // the name of the chosen plan, if droid offers several
	Edited string // the plan edited by the user, with stream.OptionEdit
	Words  string // the user's message to the model with a refusal, or ""
}

// Refusal is the decision where there is no clear choice.
func Refusal() Decision { return Decision{Option: stream.OptionCancel} }

// PermissionContext is the state of a session that a permission request depends on.
type PermissionContext struct {
	Directories []string    // of the session: working and additional directories
	Mode        stream.Mode // the current mode
	EditedPlan  bool        // droid accepts an edited plan
	Words       bool        // a message with a refusal can reach the model
}

// Permission prepares a permission request. files are the texts of the files returned by NeededFiles, with the targets of RequestedPaths and
// set.Directories.
func (v *View) Permission(ev quirks.PermissionRequested, files Files, set PermissionContext) *Permission {
	v.files, v.directories = files, set.Directories
	defer func() { v.files, v.directories = nil, nil }()
	options := permissionOptions(ev.Options, ev.Tools, v.client.ClientProfile, set.Mode)
	if len(ev.Tools) == 0 || len(options) == 0 {
		return &Permission{Refused: true}
	}
	if kind := needsReader(ev.Tools); kind != "" && v.client.AnswersByPolicy {
		v.notice(fmt.Sprintf("droid asked for something that only a person can answer (%s), and this client answers by a rule, so it was refused. Ask for it in an editor.", Label(kind)))
		return &Permission{Refused: true, Before: v.take()}
	}
	plans := planNames(ev.Tools)
	if len(plans) > 0 && !v.client.ShowsOptionNames {
		v.showPlans(ev, plans)
		return &Permission{Refused: true, Before: v.take()}
	}
	shown, after := v.showOne(ev)
	always := alwaysText(ev.Tools, options, v.client.ClientProfile, set.Mode)
	if v.client.AssumedCompliant && all(ev.Tools, confirmSpec) && offers(ev.Options, "proceed_auto_run_medium") {
		always = "For a higher level than these set the mode once the plan is approved."
	}
	if !all(ev.Tools, "sandbox_violation") && !all(ev.Tools, confirmSpec) {
		if _, again := v.shownOptionTexts[always]; again {
			always = ""
		}
		v.shownOptionTexts[always] = struct{}{}
	}
	shown = v.showBefore(ev, shown, paragraphs(subagentAsks(ev), always))
	p := &Permission{Before: v.take()}
	for _, update := range after {
		v.send(update)
	}
	p.After = v.take()
	p.permissionDialog = permissionDialog{names: v.client.MayShowOptionNames(), shown: titled(shown, v.client.ClientProfile), options: options, plans: plans,
		decision: Refusal()}
	if v.client.Air {
		p.meta = protocol.AirPermissionMeta(p.shown.Title, "", slices.ContainsFunc(ev.Tools, isRisky))
	}
	p.mayExplain = set.Words && v.client.Forms && v.client.MayShowOptionNames() && offers(ev.Options, stream.OptionCancel)
	if set.EditedPlan && v.client.Forms && v.client.ShowsOptionNames && len(plans) == 0 {
		p.plan = editablePlan(ev)
	}
	if v.client.SingleLineFields && strings.Contains(p.plan, "\n") {
		p.plan = ""
	}
	return p
}

// isRisky reports whether a refusal is the safer choice to offer first.
func isRisky(t stream.PermissionToolUse) bool {
	return t.Details.ImpactLevel == "high" || t.Confirmation == "sandbox_violation"
}

// needsReader returns the confirmation type of a request that must be read before it is allowed, or "": a mission, which runs agents by
// itself, or an unknown type.
func needsReader(tools []stream.PermissionToolUse) string {
	for _, t := range tools {
		if strings.HasSuffix(t.Confirmation, "_mission") || strings.Contains(t.Confirmation, "_mission_") || !stream.KnowsConfirmation(t.Confirmation) {
			return cmp.Or(t.Confirmation, "without a kind")
		}
	}
	return ""
}

// showOne shows the tool of a request, or all of them as one. after restores the title of the entry if the request changed it.
func (v *View) showOne(ev quirks.PermissionRequested) (shown protocol.ToolCall, after []protocol.ToolCall) {
	if len(ev.Tools) > 1 {
		return v.showBatch(ev)
	}
	tool := ev.Tools[0]
	shown, _ = v.permissionCall(tool, true)
	if tool.Confirmation == "sandbox_violation" {
		after = []protocol.ToolCall{{SessionUpdate: "tool_call_update", ToolCallID: shown.ToolCallID, Kind: shown.Kind,
			Title: protocol.Line(Title(tool.ToolUse.Name, tool.ToolUse.Input, v.cwd))}}
	}
	return shown, after
}

// permissionCall describes a tool that waits for permission, with everything that the user needs to decide. alone means that the request is
// for this tool only. keep is the result of toolView.asked.
func (v *View) permissionCall(tool stream.PermissionToolUse, alone bool) (shown protocol.ToolCall, keep bool) {
	view := v.call(tool.ToolUse.ID)
	shown = v.describe(view, tool.ToolUse.Name, tool.ToolUse.Input)
	shown.Status = protocol.StatusPending
	changes := askedChanges(tool, view.planned(), v.cwd)
	if len(changes) > 0 {
		shown.Content = diffs(v.cwd, changes)
		shown.Locations = changeLocations(changes)
	}
	text := permissionText(tool, len(changes) > 0)
	if alone && v.showsCommand(tool) {
		text = strings.TrimSpace(commandNotes(tool))
	}
	if text != "" {
		shown.Content = slices.Insert(shown.Content, 0, protocol.TextContent(text))
	}
	title := string(shown.Title)
	if targets := v.targets(tool); len(targets) > 0 {
		title = v.showTargets(tool.ToolUse.Name, targets, title, &shown)
	}
	shown.Title = protocol.Line(permissionTitle(tool, title))
	return shown, view.asked(tool, changes)
}

// planNames returns the names of the plans to choose from (optionNames, droid ≤0.215), nil if there is at most one plan.
func planNames(tools []stream.PermissionToolUse) []string {
	for _, t := range tools {
		if len(t.Details.OptionNames) > 1 {
			return t.Details.OptionNames
		}
	}
	return nil
}

// showPlans sends several plans as messages if the user could not tell the options apart.
func (v *View) showPlans(ev quirks.PermissionRequested, plans []string) {
	for _, tool := range ev.Tools {
		v.notice(permissionText(tool, true))
	}
	v.notice("This editor is not known to show which plan an answer would pick, so none was approved. Say in your next prompt which one to carry out: " + strings.Join(plans, "; ") + ".")
}

// editablePlan returns the plan that the user may edit before approval, "" if the request is not for a single plan.
func editablePlan(ev quirks.PermissionRequested) string {
	if len(ev.Tools) != 1 || ev.Tools[0].Confirmation != confirmSpec || !offers(ev.Options, stream.OptionOnce) {
		return ""
	}
	return strings.TrimSpace(ev.Tools[0].Details.Plan)
}
