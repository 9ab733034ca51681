package stream

import (
	"encoding/json"

	"droid-acp/internal/text/rawjson"
)

// SessionInfo is droid's answer to opening a session.
type SessionInfo struct {
	SessionID        string
	Title            string // of a loaded session, since 0.215
	CWD              string // of a loaded session
	Messages         []Message
	Unreadable       int  // messages that could not be decoded and are omitted
	HasOlderMessages bool // the session has more than Messages (since 0.215)
	Settings         Settings
	AvailableModels  []Model
	TokenUsage       TokenUsage // of a loaded session
}

// Model is a model that droid offers. ID is a value of Settings.ModelID; IDs of the user's own models ("custom:…") follow no rule, so never
// construct one.
type Model struct {
	ID                        string          `json:"id"`
	DisplayName               string          `json:"displayName"`
	Provider                  string          `json:"modelProvider"`
	SupportedReasoningEfforts []string        `json:"supportedReasoningEfforts"`
	DefaultReasoningEffort    string          `json:"defaultReasoningEffort"`
	IsCustom                  bool            `json:"isCustom"`
	NoImageSupport            bool            `json:"noImageSupport"`
	Deprecated                bool            `json:"deprecated"`
	Disabled                  bool            `json:"disabled"` // since 0.225
	Raw                       json.RawMessage `json:"-"`
}

// UnmarshalJSON decodes the model and keeps its raw JSON. If fields have unexpected types, only the ID is kept.
func (m *Model) UnmarshalJSON(data []byte) error {
	type plain Model
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		var only struct {
			ID string `json:"id"`
		}
		_ = json.Unmarshal(data, &only) // a model without a readable ID is useless, but not an error
		p = plain{ID: only.ID}
	}
	p.Raw = append(json.RawMessage(nil), data...)
	*m = Model(p)
	return nil
}

// UnmarshalJSON decodes the result of initialize_session and load_session. A message that cannot be decoded is omitted and counted.
func (s *SessionInfo) UnmarshalJSON(data []byte) error {
	var r struct {
		SessionID string `json:"sessionId"`
		Session   struct {
			Title    string          `json:"title"`
			Messages []rawjson.Value `json:"messages"`
		} `json:"session"`
		Settings         Settings   `json:"settings"`
		AvailableModels  []Model    `json:"availableModels"`
		CWD              string     `json:"cwd"`
		HasOlderMessages bool       `json:"hasOlderMessages"`
		TokenUsage       TokenUsage `json:"tokenUsage"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	*s = SessionInfo{
		SessionID:        r.SessionID,
		Title:            r.Session.Title,
		CWD:              r.CWD,
		Messages:         make([]Message, 0, len(r.Session.Messages)),
		HasOlderMessages: r.HasOlderMessages,
		Settings:         r.Settings,
		AvailableModels:  r.AvailableModels,
		TokenUsage:       r.TokenUsage,
	}
	for _, raw := range r.Session.Messages {
		var m Message
		if err := json.Unmarshal(raw, &m); err != nil {
			s.Unreadable++
			continue
		}
		s.Messages = append(s.Messages, m)
	}
	return nil
}
