package protocol

import (
	"encoding/json"
)

// URLElicitation is the params of elicitation/create with mode "url" (ACP v1, 1.7.0).
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

// ElicitationParams is the params of elicitation/create with mode "form" (ACP v1, 1.7.0). The SDK's type has neither sessionId nor
// toolCallId.
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

// FormField is a text field, a choice if Enum is set, or a multiple choice if Items is set.
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

// FieldMeta is the _meta of a field. Clients that know it show the field as one more option of the choice that it belongs to (agent-shell,
// read; Claude's bridge sends the same).
type FieldMeta struct {
	CustomAnswer *CustomAnswer `json:"_askUserQuestionCustomAnswer,omitempty"`
	OnlyAir
}

// CustomAnswer names the choice that the field belongs to.
type CustomAnswer struct {
	QuestionID string `json:"questionId"`
	Is         bool   `json:"isCustomAnswer"`
}

// CustomAnswerFor marks a field for a free-text answer instead of that choice.
func CustomAnswerFor(field string) *FieldMeta {
	return &FieldMeta{CustomAnswer: &CustomAnswer{field, true}}
}

// ForAir returns the mark with Air's newer form of it.
func (m FieldMeta) ForAir() *FieldMeta {
	m.JetBrains = airMeta(AirFields{CustomAnswer: m.CustomAnswer})
	return &m
}

// FormItems are the options of a multiple choice.
type FormItems struct {
	Type string `json:"type"`
	Enum []Line `json:"enum"`
}

// ElicitationResult is the result of elicitation/create.
type ElicitationResult struct {
	Action  string                     `json:"action"`
	Content map[string]json.RawMessage `json:"content"`
}
