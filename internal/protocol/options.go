package protocol

// ConfigOption is one selector of configOptions (ACP v1).
type ConfigOption struct {
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Description  string        `json:"description,omitempty"`
	Category     string        `json:"category,omitempty"`
	Type         string        `json:"type"`
	CurrentValue string        `json:"currentValue"`
	Options      []OptionValue `json:"options"`
}

// OptionValue is one value that a ConfigOption can have.
type OptionValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
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
