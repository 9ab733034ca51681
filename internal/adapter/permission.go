package adapter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
)

// confirmSpec is the confirmation type of a plan to approve.
const confirmSpec = "exit_spec_mode"

// decision is what the user wants done with a permission request.
type decision struct {
	option string // of droid's; OptionCancel unless the user chose clearly
	plan   string // the name of the plan picked where droid offers several
	edited string // the plan in the user's words, with OptionEdit
}

// askPermission shows what droid wants to do and gives droid the user's answer.
// Whatever is not a clear choice of an offered option is "cancel".
func (s *Session) askPermission(ev quirks.PermissionAsked) {
	options := permissionOptions(ev.Options, ev.Tools, s.agent.client.OptionNames)
	if s.ended || s.stopsTurn() || len(ev.Tools) == 0 || len(options) == 0 {
		s.refusePermission(ev.RequestID)
		return
	}
	if plans := planNames(ev.Tools); len(plans) > 1 && !s.agent.client.OptionNames {
		s.tellPlans(ev, plans)
		s.refusePermission(ev.RequestID)
		return
	}
	params := protocol.PermissionParams{SessionID: s.id, Options: options}
	var closeUp func()
	if len(ev.Tools) == 1 {
		params.ToolCall, closeUp = s.showOne(ev.Tools[0])
	} else {
		params.ToolCall, closeUp = s.showBatch(ev)
	}
	always := alwaysText(ev.Tools, options, s.options.mode())
	if always != "" {
		params.ToolCall.Content = append(params.ToolCall.Content, protocol.TextContent(always))
	}
	s.showBefore(ev, params.ToolCall, always)
	ctx := s.beginAsk(&ask{
		requestID: ev.RequestID,
		refuse:    func() { s.refusePermission(ev.RequestID) },
		closeUp:   closeUp,
	})
	decide := s.decider(ev)
	s.do(func(context.Context) {
		d := decide(ctx, params)
		s.post(func() { s.permissionAnswered(ev, d, closeUp) })
	})
}

// decider is how the user decides on a request: by one choice, unless it is
// about a plan of which there are several, or which they may edit.
func (s *Session) decider(ev quirks.PermissionAsked) func(context.Context, protocol.PermissionParams) decision {
	plans := planNames(ev.Tools)
	plan := s.editablePlan(ev)
	return func(ctx context.Context, params protocol.PermissionParams) decision {
		refused := decision{option: stream.OptionCancel}
		var d decision
		if len(plans) > 1 {
			if d.plan = s.choosePlan(ctx, params, plans); d.plan == "" {
				return refused
			}
		}
		if plan != "" {
			d.option, d.edited = s.chooseOrEdit(ctx, params, plan)
		} else {
			d.option = s.choose(ctx, params)
		}
		if d.option == "" {
			return refused
		}
		return d
	}
}

// planNames are the names of the plans that the user has to pick one of
// (optionNames, droid ≤0.215).
func planNames(tools []stream.PermissionToolUse) []string {
	for _, t := range tools {
		if len(t.Details.OptionNames) > 1 {
			return t.Details.OptionNames
		}
	}
	return nil
}

// tellPlans shows several plans to a user who could pick one only blindly.
func (s *Session) tellPlans(ev quirks.PermissionAsked, plans []string) {
	s.sayTools(ev.Tools)
	s.say("This editor is not known to show which plan an answer would pick, so none was approved. Say in your next prompt which one to carry out: " + strings.Join(plans, "; ") + ".")
}

// choosePlan lets the user pick one of several plans before they decide how it
// may run. It returns "" when they pick none.
func (s *Session) choosePlan(ctx context.Context, params protocol.PermissionParams, plans []string) string {
	choice := params
	choice.Options = nil
	for i, name := range plans {
		choice.Options = append(choice.Options, protocol.PermissionOption{
			OptionID: fmt.Sprintf("plan_%d", i), Name: name, Kind: acp.PermissionOptionKindAllowOnce})
	}
	for _, o := range params.Options {
		if o.OptionID == stream.OptionCancel {
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
func (s *Session) permissionAnswered(ev quirks.PermissionAsked, d decision, closeUp func()) {
	answer := func() {
		if s.endAsk(ev.RequestID) { // else it was withdrawn or cancelled meanwhile
			closeUp()
			s.giveAnswer(ev, d)
		}
	}
	client := s.proc.client()
	if d.plan == "" || d.option == stream.OptionCancel || client == nil {
		answer()
		return
	}
	if s.ask == nil || s.ask.requestID != ev.RequestID {
		return
	}
	// The request stays open until droid has the pick, so that a cancel in between
	// still refuses it.
	s.do(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, planTold)
		defer cancel()
		err := client.AddUserMessage(ctx, stream.UserMessage{RequestID: uuid.NewString(), Text: "I choose this option of the plan: " + d.plan})
		s.post(func() {
			if err != nil {
				s.log.Warn("droid did not take the chosen plan; the approval is withheld", zap.Error(err))
				s.tell("droid did not take your choice of plan, so it was not approved.")
				d.option = stream.OptionCancel
			}
			answer()
		})
	})
}

// giveAnswer gives droid a decision, which may be an edited plan.
func (s *Session) giveAnswer(ev quirks.PermissionAsked, d decision) {
	if d.option == stream.OptionEdit {
		s.approveEdited(ev, d.edited)
		return
	}
	s.answerPermission(ev.RequestID, d.option)
}

// permissionCall describes one tool that waits for permission, with all the
// user needs to decide.
func (s *Session) permissionCall(tool stream.PermissionToolUse) protocol.ToolCall {
	view := s.views.get(tool.ToolUse.ID)
	call := s.describe(tool.ToolUse.ID, tool.ToolUse.Name, tool.ToolUse.Input)
	call.Status = protocol.StatusPending
	changes := s.askedChanges(tool.ToolUse.ID, tool)
	if len(changes) > 0 {
		if view.edit != nil {
			view.edit.changes = changes
		}
		call.Content = diffs(s.cwd, changes)
		call.Locations = changeLocations(changes)
	}
	if text := s.askedText(tool, len(changes) > 0); text != "" {
		call.Content = slices.Insert(call.Content, 0, protocol.TextContent(text))
	}
	call.Title = permissionTitle(tool, call.Title)
	if tool.Confirmation == confirmSpec {
		if view.plan != nil {
			view.plan.text = askedPlan(tool)
		}
	}
	return call
}

// showOne shows one tool in its own entry. closeUp gives the entry its title back
// where the request has one of its own.
func (s *Session) showOne(tool stream.PermissionToolUse) (call protocol.ToolCall, closeUp func()) {
	call = s.permissionCall(tool)
	if tool.Confirmation != "sandbox_violation" {
		return call, func() {}
	}
	title := toolTitle(tool.ToolUse.Name, parseToolInput(tool.ToolUse.Input), s.cwd)
	return call, func() {
		s.send(protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: call.ToolCallID, Title: title})
	}
}
