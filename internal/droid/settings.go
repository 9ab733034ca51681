package droid

import "encoding/json"

// Settings are a session's settings as droid reports them. A nil field was not
// reported (settings_updated may be partial).
type Settings struct {
	ModelID                 *string         `json:"modelId"`
	ReasoningEffort         *string         `json:"reasoningEffort"`
	AutonomyMode            *string         `json:"autonomyMode"`    // since 0.99
	InteractionMode         *string         `json:"interactionMode"` // since 0.99
	AutonomyLevel           *string         `json:"autonomyLevel"`
	SpecModeModelID         *string         `json:"specModeModelId"`
	SpecModeReasoningEffort *string         `json:"specModeReasoningEffort"`
	Raw                     json.RawMessage `json:"-"`
}
