package protocol

import "encoding/json"

// ConfigOption is one of configOptions (ACP v1): a selector, or if On is set, a switch (type "boolean"), for clients that declare
// session.configOptions.boolean.
type ConfigOption struct {
	ID           string        `json:"id"`
	Name         Line          `json:"name"`
	Description  Line          `json:"description,omitzero"`
	Category     string        `json:"category,omitempty"`
	Type         string        `json:"type"`
	CurrentValue string        `json:"currentValue"` // of a selector
	Options      []OptionValue `json:"options"`      // of a selector
	On           *bool         `json:"-"`            // nil for a selector
}

// MarshalJSON implements json.Marshaler. A switch has no options.
func (o ConfigOption) MarshalJSON() ([]byte, error) {
	if o.On == nil {
		type selector ConfigOption
		return json.Marshal(selector(o))
	}
	return json.Marshal(struct {
		ID           string `json:"id"`
		Name         Line   `json:"name"`
		Description  Line   `json:"description,omitzero"`
		Category     string `json:"category,omitempty"`
		Type         string `json:"type"`
		CurrentValue bool   `json:"currentValue"`
	}{o.ID, o.Name, o.Description, o.Category, "boolean", *o.On})
}

// OptionValue is one value of a ConfigOption.
type OptionValue struct {
	Value       string `json:"value"`
	Name        Line   `json:"name"`
	Description Line   `json:"description,omitzero"`
}

// ConfigOptionUpdate is config_option_update.
type ConfigOptionUpdate struct {
	SessionUpdate string         `json:"sessionUpdate"`
	ConfigOptions []ConfigOption `json:"configOptions"`
}

// ConfigResult is the result of session/set_config_option.
type ConfigResult struct {
	ConfigOptions []ConfigOption `json:"configOptions"`
}

// OptionsResult is the result of session/options (unstable in ACP).
type OptionsResult struct {
	Modes         *SessionModes  `json:"modes,omitempty"`
	ConfigOptions []ConfigOption `json:"configOptions"`
}

// SessionModels are the available models and the current one: "models" in the results of session/new, load, resume and fork. ACP's schema
// had them, with session/set_model, until config options replaced them in early 2026. Clients of that time still use both.
type SessionModels struct {
	CurrentModelID  string         `json:"currentModelId"`
	AvailableModels []SessionModel `json:"availableModels"`
}

// SessionModel is one of SessionModels.
type SessionModel struct {
	ModelID     string `json:"modelId"`
	Name        Line   `json:"name"`
	Description Line   `json:"description,omitzero"`
}
