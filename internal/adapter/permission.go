package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/quirks"
)

// confirmSpec is the confirmation type of a plan to approve.
const confirmSpec = "exit_spec_mode"

// askPermission shows what droid wants to do and gives droid the user's answer.
// Whatever is not a clear choice of an offered option is "cancel".
func (s *Session) askPermission(ev quirks.PermissionAsked) {
	options := permissionOptions(ev.Options)
	if s.ended || (s.turn != nil && s.turn.cancelled) || len(ev.Tools) == 0 || len(options) == 0 {
		s.refusePermission(ev.RequestID)
		return
	}
	params := permissionParams{SessionID: s.id, Options: options}
	closeUp := func() {}
	if len(ev.Tools) == 1 {
		params.ToolCall = s.permissionCall(ev.Tools[0])
	} else {
		params.ToolCall, closeUp = s.showBatch(ev)
	}
	ctx := s.beginAsk(&ask{
		requestID: ev.RequestID,
		refuse:    func() { s.refusePermission(ev.RequestID) },
		closeUp:   closeUp,
	})
	plans := ev.Tools[0].Details.OptionNames
	s.do(func(context.Context) {
		var plan string
		if len(plans) > 1 {
			if plan = s.choosePlan(ctx, params, plans); plan == "" {
				s.post(func() { s.permissionAnswered(ev.RequestID, droid.OptionCancel, "", closeUp) })
				return
			}
		}
		option := s.choose(ctx, params)
		if option == "" {
			option = droid.OptionCancel
		}
		s.post(func() { s.permissionAnswered(ev.RequestID, option, plan, closeUp) })
	})
}

// choosePlan lets the user pick one of several plans (optionNames, droid ≤0.215)
// before they decide how it may run. It returns "" when they pick none.
func (s *Session) choosePlan(ctx context.Context, params permissionParams, plans []string) string {
	choice := params
	choice.Options = nil
	for i, name := range plans {
		choice.Options = append(choice.Options, permissionOption{
			OptionID: fmt.Sprintf("plan_%d", i), Name: name, Kind: acp.PermissionOptionKindAllowOnce})
	}
	for _, o := range params.Options {
		if o.OptionID == droid.OptionCancel {
			choice.Options = append(choice.Options, o)
		}
	}
	picked := s.choose(ctx, choice)
	for i, o := range choice.Options {
		if o.OptionID == picked && i < len(plans) {
			return plans[i]
		}
	}
	return ""
}

// planTold bounds the wait for droid to take the message that names the plan.
const planTold = 2 * time.Second

// permissionAnswered gives droid the user's choice, unless droid has stopped
// waiting. A plan picked is told first: what reaches droid while a permission
// waits is folded into the running turn (field notes §3).
func (s *Session) permissionAnswered(requestID, option, plan string, closeUp func()) {
	answer := func() {
		if s.endAsk(requestID) { // else it was withdrawn or cancelled meanwhile
			closeUp()
			s.answerPermission(requestID, option)
		}
	}
	client := s.client
	if plan == "" || option == droid.OptionCancel || client == nil {
		answer()
		return
	}
	if s.ask == nil || s.ask.requestID != requestID {
		return
	}
	// The request stays open until droid has the pick, so that a cancel in between
	// still refuses it.
	s.do(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, planTold)
		defer cancel()
		err := client.AddUserMessage(ctx, droid.UserMessage{RequestID: uuid.NewString(), Text: "I choose this option of the plan: " + plan})
		s.post(func() {
			if err != nil {
				s.log.Warn("droid did not take the chosen plan; the approval is withheld", zap.Error(err))
				s.tell("droid did not take your choice of plan, so it was not approved.")
				option = droid.OptionCancel
			}
			answer()
		})
	})
}

// permissionOptions are droid's options with its own words. Options that move
// the conversation to another session are left out: the editor would keep a
// session that droid has left (quirk 22).
func permissionOptions(offered []droid.PermissionOption) []permissionOption {
	var out []permissionOption
	for _, o := range offered {
		if strings.HasPrefix(o.Value, "proceed_new_session") || o.Value == "" {
			continue
		}
		label := o.Label
		if label == "" {
			label = o.Value
		}
		out = append(out, permissionOption{OptionID: o.Value, Name: label, Kind: optionKind(o.Value)})
	}
	return out
}

// optionKind is the ACP kind of an option of droid's. A client may act on the
// kind by itself, so what is not known to allow counts as a rejection.
func optionKind(value string) acp.PermissionOptionKind {
	switch {
	case strings.HasPrefix(value, "proceed_always"), strings.HasPrefix(value, "proceed_auto_run"):
		return acp.PermissionOptionKindAllowAlways
	case value == "proceed_once", value == "proceed_edit":
		return acp.PermissionOptionKindAllowOnce
	}
	return acp.PermissionOptionKindRejectOnce
}

// permissionCall describes one tool that waits for permission, with all the
// user needs to decide.
func (s *Session) permissionCall(tool droid.PermissionToolUse) toolCall {
	view := s.views.get(tool.ToolUse.ID)
	call := s.describe(tool.ToolUse.ID, tool.ToolUse.Name, tool.ToolUse.Input)
	call.Status = statusPending
	call.Content = permissionContent(tool)
	if changes := s.askedChanges(tool.ToolUse.ID, tool); len(changes) > 0 {
		if view.edit != nil {
			view.edit.changes = changes
		}
		call.Content = diffs(s.cwd, changes)
		call.Locations = changeLocations(changes)
	}
	if tool.Confirmation == confirmSpec && tool.Details.Title != "" {
		call.Title = "Approve plan: " + tool.Details.Title
	}
	return call
}

// permissionContent is the plan, or the command or tool with its risk.
func permissionContent(tool droid.PermissionToolUse) []toolContent {
	d := tool.Details
	switch tool.Confirmation {
	case confirmSpec:
		return []toolContent{textContent(planText(d))}
	case "exec":
		return []toolContent{textContent(commandText(d))}
	case "mcp_tool":
		return []toolContent{textContent(mcpText(tool))}
	}
	if d.PatchContent != "" {
		return []toolContent{textContent(fenced("diff", d.PatchContent))}
	}
	return []toolContent{textContent(string(d.Raw))}
}

func planText(d droid.PermissionDetails) string {
	text := d.Plan
	if len(d.OptionNames) > 0 {
		text += "\n\nOptions:\n"
		for i, name := range d.OptionNames {
			text += fmt.Sprintf("%d. %s\n", i+1, name)
		}
	}
	return text
}

func commandText(d droid.PermissionDetails) string {
	return fenced("sh", d.FullCommand) + riskText(d)
}

// mcpText is the tool of an MCP server with all that it would get.
func mcpText(tool droid.PermissionToolUse) string {
	text := toolLabel(tool.Details.ToolName)
	var input bytes.Buffer
	if object(tool.ToolUse.Input) != nil && json.Indent(&input, tool.ToolUse.Input, "", "  ") == nil {
		text += "\n\n" + fenced("json", input.String())
	}
	return text + riskText(tool.Details)
}

func riskText(d droid.PermissionDetails) string {
	if d.ImpactLevel == "" {
		return ""
	}
	text := "\n\nRisk: " + d.ImpactLevel
	if d.RiskLevelReason != "" {
		text += " (" + d.RiskLevelReason + ")"
	}
	return text
}

// showBatch shows several tools in the entry of the first, since ACP asks about
// one tool call and droid about all at once. closeUp gives the entry back what is
// its own.
func (s *Session) showBatch(ev quirks.PermissionAsked) (call toolCall, closeUp func()) {
	titles := make([]string, 0, len(ev.Tools))
	first := s.permissionCall(ev.Tools[0])
	call = toolCall{ToolCallID: first.ToolCallID, Kind: first.Kind, Status: statusPending}
	for _, tool := range ev.Tools {
		one := s.permissionCall(tool)
		titles = append(titles, firstLine(one.Title))
		call.Content = append(call.Content, textContent("**"+firstLine(one.Title)+"**"))
		call.Content = append(call.Content, one.Content...)
		call.Locations = append(call.Locations, one.Locations...)
	}
	call.Title = fmt.Sprintf("%d actions: %s", len(titles), strings.Join(titles, "; "))
	return call, func() {
		s.send(toolCall{SessionUpdate: "tool_call_update", ToolCallID: first.ToolCallID,
			Title: first.Title, Content: first.Content, Locations: first.Locations})
	}
}
