package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
)

// EditOption is the ID of the option to edit a plan in a form. It is this agent's: droid accepts an edited plan but does not offer to edit
// it.
const EditOption = "edit_plan"

// planField is the field of that form.
const planField = "plan"

// planForms bounds how often the form is shown for one request, so that a client that answers automatically terminates.
const planForms = 5

// permissionDialog asks about a permission request: first which plan, if there are several; then which option. An editable plan adds an
// option that opens a form.
type permissionDialog struct {
	names   bool // the client shows option names
	meta    *protocol.OnlyAir
	shown   protocol.ToolCall
	options []protocol.PermissionOption
	plans   []string // to choose from; empty if there is at most one
	plan    string   // editable; "" for none

	asking     optionChoice // the current question
	inForm     bool
	forms      int  // number shown so far
	mayExplain bool // a message with the refusal is possible
	explaining bool // the form for it is open
	decision   Decision
	over       bool
}

var _ Dialog = (*permissionDialog)(nil)

// Next implements Dialog.
func (d *permissionDialog) Next() (Step, bool) {
	switch {
	case d.over:
		return Step{}, false
	case d.inForm:
		return Step{Form: planForm(d.shown.ToolCallID, d.plan)}, true
	case d.explaining:
		return Step{Form: refusalForm(d.shown)}, true
	}
	options := d.options
	switch {
	case d.choosesPlan():
		options = planOptions(d.plans, d.options)
	case d.plan != "":
		options = withEdit(d.options)
	}
	if d.mayExplain {
		options = withRefuseOption(options)
	}
	d.asking = newChoice(options, d.names)
	return Step{Choice: &protocol.PermissionParams{ToolCall: d.shown, Options: d.asking.shown, Meta: d.meta}}, true
}

func (d *permissionDialog) choosesPlan() bool { return len(d.plans) > 0 && d.decision.Plan == "" }

// OptionChosen implements Dialog.
func (d *permissionDialog) OptionChosen(optionID string) (offered bool) {
	option := d.asking.picked(optionID)
	switch {
	case d.over || d.inForm || d.explaining || option == "":
		d.refuse()
	case option == RefuseWithTextOption:
		d.explaining = true
	case d.choosesPlan():
		d.pickPlan(option)
	case option == EditOption:
		d.inForm = true
		d.forms++
	default:
		d.decision.Option, d.over = option, true
	}
	return option != ""
}

// pickPlan takes the user's choice of a plan. It refuses for a plan without a name, by which droid would be told.
func (d *permissionDialog) pickPlan(option string) {
	for i, name := range d.plans {
		if planOption(i) == option && name != "" {
			d.decision.Plan = name
			return
		}
	}
	d.refuse()
}

// FormFilled implements Dialog. A form without text leads back to the choice: closing it says nothing about the plan.
func (d *permissionDialog) FormFilled(result *protocol.ElicitationResult) {
	if d.over || !d.inForm {
		words := ""
		if !d.over && d.explaining {
			words = filledIn(result, whyField)
		}
		d.refuse()
		d.decision.Words = words
		return
	}
	d.inForm = false
	if result == nil { // the client could not show the form
		d.plan = ""
		return
	}
	switch text := filledIn(result, planField); {
	case text == "" && d.forms < planForms:
	case text == "":
		d.refuse()
	case slices.Equal(strings.Fields(text), strings.Fields(d.plan)): // forms may alter white space
		d.decision.Option, d.over = stream.OptionOnce, true
	default:
		d.decision.Option, d.decision.Edited, d.over = stream.OptionEdit, text, true
	}
}

func (d *permissionDialog) refuse() {
	d.decision, d.over = Refusal(), true
}

// Decision returns the user's answer. Until the dialog is over, it is a refusal.
func (d *permissionDialog) Decision() Decision {
	if !d.over {
		return Refusal()
	}
	return d.decision
}

func planOption(i int) string { return fmt.Sprintf("plan_%d", i) }

// planOptions returns an option for each plan, and droid's refusal.
func planOptions(plans []string, options []protocol.PermissionOption) (buttons []protocol.PermissionOption) {
	for i, name := range plans {
		buttons = append(buttons, protocol.PermissionOption{OptionID: planOption(i), Name: protocol.Line(name), Kind: acp.PermissionOptionKindAllowOnce})
	}
	for _, o := range options {
		if o.OptionID == stream.OptionCancel {
			buttons = append(buttons, o)
		}
	}
	return buttons
}

// withEdit inserts the edit option before the refusals.
func withEdit(options []protocol.PermissionOption) []protocol.PermissionOption {
	at := slices.IndexFunc(options, func(o protocol.PermissionOption) bool { return o.Kind == acp.PermissionOptionKindRejectOnce })
	if at < 0 {
		at = len(options)
	}
	return slices.Insert(slices.Clone(options), at,
		protocol.PermissionOption{OptionID: EditOption, Name: "Yes, but edit the plan first", Kind: acp.PermissionOptionKindAllowOnce})
}

// planForm returns the form to edit the plan.
func planForm(toolID, plan string) *protocol.ElicitationParams {
	return &protocol.ElicitationParams{ToolCallID: toolID, Mode: "form",
		Message: protocol.Text("Edit the plan. droid carries out what you leave here, in the mode " + stream.ModeNormal.Title() + "."),
		Schema: protocol.FormSchema{Type: "object", Required: []string{planField}, Properties: map[string]protocol.FormField{
			planField: {Type: "string", Title: "Plan", MinLength: 1, Default: plan},
		}}}
}

// RefuseWithTextOption is the ID of the option to refuse and open a form for a message to the model. It is this agent's: the text of
// droid's own refusal does not reach the model (0.99 to 0.225).
const RefuseWithTextOption = "refuse_with_words"

// whyField is the field of that form.
const whyField = "why"

// withRefuseOption inserts that option after droid's refusal, as clients that choose by kind take the first of a kind.
func withRefuseOption(options []protocol.PermissionOption) []protocol.PermissionOption {
	at := slices.IndexFunc(options, func(o protocol.PermissionOption) bool { return o.OptionID == stream.OptionCancel })
	if at < 0 {
		return options
	}
	return slices.Insert(slices.Clone(options), at+1,
		protocol.PermissionOption{OptionID: RefuseWithTextOption, Name: "No, and say why", Kind: acp.PermissionOptionKindRejectOnce})
}

// refusalForm returns the form for a message with the refusal.
func refusalForm(refused protocol.ToolCall) *protocol.ElicitationParams {
	return &protocol.ElicitationParams{ToolCallID: refused.ToolCallID, Mode: "form", Message: protocol.Text("Refused: " + refused.Title),
		Schema: protocol.FormSchema{Type: "object", Required: []string{whyField}, Properties: map[string]protocol.FormField{
			whyField: {Type: "string", Title: "Why, or what to do instead", Description: "The model reads this right behind the refusal", MinLength: 1},
		}}}
}

// filledIn returns the text of a form field, "" if it is empty or the form was closed.
func filledIn(result *protocol.ElicitationResult, field string) (text string) {
	if result == nil || result.Action != "accept" {
		return ""
	}
	_ = json.Unmarshal(result.Content[field], &text) // "" if not a string
	return strings.TrimSpace(text)
}
