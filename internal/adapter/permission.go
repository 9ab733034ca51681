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

	"droid-acp/internal/droid"
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
	if text := alwaysText(ev.Tools, ev.Options, s.settings.Mode()); text != "" {
		params.ToolCall.Content = append(params.ToolCall.Content, textContent(text))
	}
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
func (s *Session) decider(ev quirks.PermissionAsked) func(context.Context, permissionParams) decision {
	plans := planNames(ev.Tools)
	plan := s.editablePlan(ev)
	return func(ctx context.Context, params permissionParams) decision {
		refused := decision{option: droid.OptionCancel}
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
func planNames(tools []droid.PermissionToolUse) []string {
	for _, t := range tools {
		if len(t.Details.OptionNames) > 1 {
			return t.Details.OptionNames
		}
	}
	return nil
}

// choosePlan lets the user pick one of several plans before they decide how it
// may run. It returns "" when they pick none.
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
func (s *Session) permissionAnswered(ev quirks.PermissionAsked, d decision, closeUp func()) {
	answer := func() {
		if s.endAsk(ev.RequestID) { // else it was withdrawn or cancelled meanwhile
			closeUp()
			s.giveAnswer(ev, d)
		}
	}
	client := s.client
	if d.plan == "" || d.option == droid.OptionCancel || client == nil {
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
		err := client.AddUserMessage(ctx, droid.UserMessage{RequestID: uuid.NewString(), Text: "I choose this option of the plan: " + d.plan})
		s.post(func() {
			if err != nil {
				s.log.Warn("droid did not take the chosen plan; the approval is withheld", zap.Error(err))
				s.tell("droid did not take your choice of plan, so it was not approved.")
				d.option = droid.OptionCancel
			}
			answer()
		})
	})
}

// giveAnswer gives droid a decision, which may be an edited plan.
func (s *Session) giveAnswer(ev quirks.PermissionAsked, d decision) {
	if d.option == droid.OptionEdit {
		s.approveEdited(ev, d.edited)
		return
	}
	s.answerPermission(ev.RequestID, d.option)
}

// permissionOptions are droid's options with its own words. Options that move
// the conversation to another session are left out: the editor would keep a
// session that droid has left (quirk 22). So is proceed_edit, which needs a text
// with it, see editablePlan.
func permissionOptions(offered []droid.PermissionOption) []permissionOption {
	var out []permissionOption
	for _, o := range offered {
		if strings.HasPrefix(o.Value, "proceed_new_session") || o.Value == droid.OptionEdit || o.Value == "" {
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
// kind by itself: one that rejects must not hit what proceeds, and one that
// allows once must not hit what may allow more. "proceed" begins all options that
// approve (0.99 to 0.225).
func optionKind(value string) acp.PermissionOptionKind {
	switch {
	case value == droid.OptionOnce, value == "proceed_report_false_positive":
		return acp.PermissionOptionKindAllowOnce
	case strings.HasPrefix(value, "proceed"):
		return acp.PermissionOptionKindAllowAlways
	}
	return acp.PermissionOptionKindRejectOnce
}

func offers(options []droid.PermissionOption, value string) bool {
	return slices.ContainsFunc(options, func(o droid.PermissionOption) bool { return o.Value == value })
}

// permissionCall describes one tool that waits for permission, with all the
// user needs to decide.
func (s *Session) permissionCall(tool droid.PermissionToolUse) toolCall {
	view := s.views.get(tool.ToolUse.ID)
	call := s.describe(tool.ToolUse.ID, tool.ToolUse.Name, tool.ToolUse.Input)
	call.Status = statusPending
	changes := s.askedChanges(tool.ToolUse.ID, tool)
	if len(changes) > 0 {
		if view.edit != nil {
			view.edit.changes = changes
		}
		call.Content = diffs(s.cwd, changes)
		call.Locations = changeLocations(changes)
	}
	if text := permissionText(tool, len(changes) > 0); text != "" {
		call.Content = slices.Insert(call.Content, 0, textContent(text))
	}
	if tool.Confirmation == confirmSpec {
		if view.plan != nil {
			view.plan.text = askedPlan(tool)
		}
		if tool.Details.Title != "" {
			call.Title = "Approve plan: " + tool.Details.Title
		}
	}
	return call
}
