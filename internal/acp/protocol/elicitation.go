package protocol

import (
	"encoding/json"
)

// URLElicitation is the params of elicitation/create with mode "url" (ACP v1,
// 1.7.0).
type URLElicitation struct {
	SessionID     string `json:"sessionId"`
	Mode          string `json:"mode"`
	ElicitationID string `json:"elicitationId"`
	URL           string `json:"url"`
	Message       Text   `json:"message"`
}

// ElicitationComplete is the params of elicitation/complete.
type ElicitationComplete struct {
	ElicitationID string `json:"elicitationId"`
}

// ElicitationParams is the params of elicitation/create with mode "form" (ACP
// v1, 1.7.0). Own type: the SDK's has neither sessionId nor toolCallId.
type ElicitationParams struct {
	SessionID  string     `json:"sessionId"`
	ToolCallID string     `json:"toolCallId,omitempty"`
	Mode       string     `json:"mode"`
	Message    Text       `json:"message"`
	Schema     FormSchema `json:"requestedSchema"`
}

// FormSchema is the JSON schema of a form.
type FormSchema struct {
	Type       string               `json:"type"`
	Properties map[string]FormField `json:"properties"`
	Required   []string             `json:"required,omitempty"`
}

// FormField is a text field, a choice when it has an Enum, or a choice of several
// when it has Items.
type FormField struct {
	Type        string     `json:"type"`
	Title       Line       `json:"title,omitzero"`
	Description Text       `json:"description,omitzero"`
	Enum        []Line     `json:"enum,omitzero"`
	Items       *FormItems `json:"items,omitempty"`
	MinLength   int        `json:"minLength,omitempty"`
	Default     string     `json:"default,omitempty"`
	Meta        *FieldMeta `json:"_meta,omitempty"`
}

// FieldMeta is the meta of a field. A client that knows it shows the field as one more option of the
// choice that it belongs to (agent-shell, read; Claude's bridge sends the same).
type FieldMeta struct {
	OwnAnswer *OwnAnswer `json:"_askUserQuestionCustomAnswer,omitempty"`
}

// OwnAnswer names the field of the choice.
type OwnAnswer struct {
	QuestionID string `json:"questionId"`
	Is         bool   `json:"isCustomAnswer"`
}

// OwnAnswerTo marks a field for the user's own words in place of that choice.
func OwnAnswerTo(field string) *FieldMeta { return &FieldMeta{&OwnAnswer{field, true}} }

// FormItems are the options of a choice of several.
type FormItems struct {
	Type string `json:"type"`
	Enum []Line `json:"enum"`
}

// ElicitationResult is the client's answer to it.
type ElicitationResult struct {
	Action  string                     `json:"action"`
	Content map[string]json.RawMessage `json:"content"`
}
