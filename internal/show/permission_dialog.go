package show

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
)

// EditOption is the id of the button that opens a plan in a form. It is this agent's:
// droid takes an edited plan but does not offer to.
const EditOption = "edit_plan"

// planField is the field of that form.
const planField = "plan"

// planForms bounds how often the plan is shown in a form for one request, so
// that a client that answers by itself comes to an end.
const planForms = 5

// permissionDialog asks the user about a permission request: which plan, where there are
// several; then by which option it may go on. A plan that they may edit is one more
// option, which shows it in a form.
type permissionDialog struct {
	names   bool // the client shows what options are called
	shown   protocol.ToolCall
	options []protocol.PermissionOption
	plans   []string // to pick one of; empty when there is one at most
	plan    string   // that may be edited; "" for none

	asking   choice // what the user has in front of them
	inForm   bool
	forms    int  // shown so far
	words    bool // the user may say why they refuse
	inWords  bool // in a form
	decision Decision
	over     bool
}

var _ Dialog = (*permissionDialog)(nil)

// Next implements Dialog.
func (d *permissionDialog) Next() (Step, bool) {
	switch {
	case d.over:
		return Step{}, false
	case d.inForm:
		return Step{Form: planForm(d.shown.ToolCallID, d.plan)}, true
	case d.inWords:
		return Step{Form: wordsForm(d.shown)}, true
	}
	options := d.options
	switch {
	case d.choosesPlan():
		options = planOptions(d.plans, d.options)
	case d.plan != "":
		options = withEdit(d.options)
	}
	if d.words {
		options = withWords(options)
	}
	d.asking = newChoice(options, d.names)
	return Step{Choice: &protocol.PermissionParams{ToolCall: d.shown, Options: d.asking.shown}}, true
}

func (d *permissionDialog) choosesPlan() bool { return len(d.plans) > 0 && d.decision.Plan == "" }

// Chose implements Dialog.
func (d *permissionDialog) Chose(optionID string) (offered bool) {
	option := d.asking.picked(optionID)
	switch {
	case d.over || d.inForm || d.inWords || option == "":
		d.refuse()
	case option == WordsOption:
		d.inWords = true
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

func (d *permissionDialog) pickPlan(option string) {
	for i, name := range d.plans {
		if planOption(i) == option {
			d.decision.Plan = name
			return
		}
	}
	d.refuse()
}

// Filled implements Dialog. A form that brings no text leads back to the choice: to
// close it is no word on the plan.
func (d *permissionDialog) Filled(result *protocol.ElicitationResult) {
	if d.over || !d.inForm {
		words := ""
		if !d.over && d.inWords {
			words = filledIn(result, whyField)
		}
		d.refuse()
		d.decision.Words = words
		return
	}
	d.inForm = false
	if result == nil { // this editor cannot after all
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
	d.decision, d.over = Decision{Option: stream.OptionCancel}, true
}

// Decision is what the user wants. As long as the dialog is not over, that is a refusal.
func (d *permissionDialog) Decision() Decision {
	if !d.over {
		return Decision{Option: stream.OptionCancel}
	}
	return d.decision
}

func planOption(i int) string { return fmt.Sprintf("plan_%d", i) }

// planOptions are a button for each plan, and droid's refusal.
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

// withEdit puts the button for the form before those that refuse.
func withEdit(options []protocol.PermissionOption) []protocol.PermissionOption {
	at := slices.IndexFunc(options, func(o protocol.PermissionOption) bool { return o.Kind == acp.PermissionOptionKindRejectOnce })
	if at < 0 {
		at = len(options)
	}
	return slices.Insert(slices.Clone(options), at,
		protocol.PermissionOption{OptionID: EditOption, Name: "Yes, but edit the plan first", Kind: acp.PermissionOptionKindAllowOnce})
}

// planForm shows the plan in a form, to be edited.
func planForm(toolID, plan string) *protocol.ElicitationParams {
	return &protocol.ElicitationParams{ToolCallID: toolID, Mode: "form",
		Message: protocol.Text("Edit the plan. droid carries out what you leave here, in the mode " + stream.ModeNormal.Title() + "."),
		Schema: protocol.FormSchema{Type: "object", Required: []string{planField}, Properties: map[string]protocol.FormField{
			planField: {Type: "string", Title: "Plan", MinLength: 1, Default: plan},
		}}}
}

// WordsOption is the id of the button that refuses and opens a form for what the user
// wants to say with it. It is this agent's: droid's refusal takes no words that reach
// the model (0.99 to 0.225).
const WordsOption = "refuse_with_words"

// whyField is the field of that form.
const whyField = "why"

// withWords puts the button for the form behind droid's refusal, as clients that pick by
// kind take the first of a kind.
func withWords(options []protocol.PermissionOption) []protocol.PermissionOption {
	at := slices.IndexFunc(options, func(o protocol.PermissionOption) bool { return o.OptionID == stream.OptionCancel })
	if at < 0 {
		return options
	}
	return slices.Insert(slices.Clone(options), at+1,
		protocol.PermissionOption{OptionID: WordsOption, Name: "No, and say why", Kind: acp.PermissionOptionKindRejectOnce})
}

// wordsForm asks what the user says to the model with the refusal of what was shown.
func wordsForm(refused protocol.ToolCall) *protocol.ElicitationParams {
	return &protocol.ElicitationParams{ToolCallID: refused.ToolCallID, Mode: "form", Message: protocol.Text("Refused: " + refused.Title),
		Schema: protocol.FormSchema{Type: "object", Required: []string{whyField}, Properties: map[string]protocol.FormField{
			whyField: {Type: "string", Title: "Why, or what to do instead", Description: "The model reads this right behind the refusal", MinLength: 1},
		}}}
}

// filledIn is what the user wrote into a field of a form, "" when they wrote nothing or
// closed the form.
func filledIn(result *protocol.ElicitationResult, field string) (text string) {
	if result == nil || result.Action != "accept" {
		return ""
	}
	_ = json.Unmarshal(result.Content[field], &text) // what is no text brings none
	return strings.TrimSpace(text)
}
