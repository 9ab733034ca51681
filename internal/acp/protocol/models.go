package protocol

// SessionModels are the models of a session and the one in use: the "models" in the
// results of session/new, load, resume and fork. ACP's schema had them until early 2026,
// with session/set_model; config options took their place. Clients of that time still
// read and call both.
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
