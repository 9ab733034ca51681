package adapter

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/wire"
)

// editOption is the id of the button that opens the plan in a form. It is ours:
// droid takes an edited plan but does not offer to (Client.ApproveEditedPlan).
const editOption = "edit_plan"

// planForms bounds how often the plan is shown in a form for one request, so
// that a client that answers by itself comes to an end.
const planForms = 5

// editablePlan is the plan that the user may edit before they approve it, "" when
// they may not: droid does not take one, the editor has no forms or is not known to
// show what the button is called, or there is more to decide on than one plan that
// droid lets go ahead.
func (s *Session) editablePlan(ev quirks.PermissionAsked) string {
	switch {
	case !s.agent.client.Forms, !s.agent.client.OptionNames, !s.proc.has(stream.TakesEditedPlan),
		len(ev.Tools) != 1 || ev.Tools[0].Confirmation != confirmSpec, len(planNames(ev.Tools)) > 1,
		!offers(ev.Options, stream.OptionOnce):
		return ""
	}
	return strings.TrimSpace(ev.Tools[0].Details.Plan)
}

// chooseOrEdit is choose with the plan in a form as one more option. A form that
// brings no text leads back to the choice: to close it is no word on the plan.
func (s *Session) chooseOrEdit(ctx context.Context, params protocol.PermissionParams, plan string) (option, edited string) {
	options := params.Options
	for range planForms {
		params.Options = withEdit(options)
		if option = s.choose(ctx, params); option != editOption {
			return option, ""
		}
		text, err := s.editPlan(ctx, params, plan)
		switch {
		case err != nil: // this editor cannot after all, or the turn is over
			s.agent.log.Info("the editor did not show the plan in a form", zap.Error(err))
			params.Options = options
			return s.choose(ctx, params), ""
		case text == "":
		case slices.Equal(strings.Fields(text), strings.Fields(plan)): // forms may alter white space
			return stream.OptionOnce, ""
		default:
			return stream.OptionEdit, text
		}
	}
	return "", ""
}

// withEdit puts the button for the form before those that refuse.
func withEdit(options []protocol.PermissionOption) []protocol.PermissionOption {
	at := slices.IndexFunc(options, func(o protocol.PermissionOption) bool { return o.Kind == acp.PermissionOptionKindRejectOnce })
	if at < 0 {
		at = len(options)
	}
	return slices.Insert(slices.Clone(options), at,
		protocol.PermissionOption{OptionID: editOption, Name: "Edit the plan, then proceed", Kind: acp.PermissionOptionKindAllowOnce})
}

// editPlan shows the plan in a form and returns it as the user left it, "" when
// they did not accept the form or left nothing.
func (s *Session) editPlan(ctx context.Context, params protocol.PermissionParams, plan string) (string, error) {
	const field = "plan"
	form := protocol.ElicitationParams{SessionID: params.SessionID, ToolCallID: params.ToolCall.ToolCallID, Mode: "form",
		Message: "Edit the plan. droid carries out what you leave here, in the mode normal.",
		Schema: protocol.FormSchema{Type: "object", Required: []string{field}, Properties: map[string]protocol.FormField{
			field: {Type: "string", Title: "Plan", MinLength: 1, Default: plan},
		}}}
	result, err := wire.Request[protocol.ElicitationResult](ctx, s.agent.conn, "elicitation/create", form)
	if err != nil {
		return "", err
	}
	var text string
	if result.Action != "accept" || json.Unmarshal(result.Content[field], &text) != nil {
		return "", nil
	}
	return strings.TrimSpace(text), nil
}

// approveEdited gives droid the edited plan and shows it in place of the one that
// the model wrote.
func (s *Session) approveEdited(ev quirks.PermissionAsked, text string) {
	client := s.proc.client()
	if client == nil {
		s.refusePermission(ev.RequestID)
		return
	}
	if err := client.ApproveEditedPlan(ev.RequestID, text); err != nil {
		s.log.Warn("droid did not take the edited plan", zap.Error(err))
		s.refusePermission(ev.RequestID)
		return
	}
	id := ev.Tools[0].ToolUse.ID
	if p := s.views.get(id).plan; p != nil {
		p.text, p.edited = text, true
	}
	s.send(protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: id, Content: []protocol.ToolContent{protocol.TextContent(text)}})
	s.droidAnswered(ev.RequestID, false)
}

// planView is the view of an ExitSpecMode call.
type planView struct {
	text   string // the plan, as proposed or as edited
	edited bool   // by the user, here
}

// inputPlan is the plan in the input of an ExitSpecMode, "" when it is not there.
func inputPlan(input json.RawMessage) string {
	var plan string
	_ = json.Unmarshal(protocol.Fields(input)["plan"], &plan) // the model's: may be anything
	return plan
}

// planEnded shows the plan and what became of it: droid gives an object once it is
// approved (0.99 to 0.225).
func (s *Session) planEnded(ev quirks.ToolEnded, p *planView, update *protocol.ToolCall) {
	if ev.Unfinished {
		return
	}
	var result struct {
		Approved bool   `json:"approved"`
		Message  string `json:"message"`
		FilePath string `json:"filePath"`
		IsEdited bool   `json:"isEdited"`
	}
	if json.Unmarshal([]byte(resultText(ev.Content)), &result) != nil || !result.Approved || result.Message == "" {
		update.Content = append(planContent(p.text), resultContent(ev.Content)...)
		return
	}
	message := result.Message
	if result.FilePath != "" && !strings.Contains(message, result.FilePath) { // 0.99 says it already
		message += "\nThe plan is saved in " + result.FilePath
	}
	switch {
	case p.text != "" && strings.Contains(message, strings.TrimSpace(p.text)): // 0.99
	case result.IsEdited && !p.edited: // in the past: droid keeps the edited plan in the file alone
		update.Content = append([]protocol.ToolContent{protocol.TextContent("You edited this plan before you approved it; what was approved is in the file named below. It was proposed as:")},
			planContent(p.text)...)
	default:
		update.Content = planContent(p.text)
	}
	update.Content = append(update.Content, protocol.TextContent(message))
}

func planContent(text string) []protocol.ToolContent {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []protocol.ToolContent{protocol.TextContent(text)}
}
