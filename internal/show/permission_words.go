package show

import (
	"encoding/json"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
)

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
