package stream

import (
	"encoding/json"

	"droid-acp/internal/text/rawjson"
)

// SessionInfo is what droid answers when a session is opened.
type SessionInfo struct {
	SessionID        string
	Title            string // of a loaded session, since 0.215
	CWD              string // of a loaded session
	Messages         []Message
	Unreadable       int  // messages that did not decode and are left out
	HasOlderMessages bool // there are more than Messages holds (since 0.215)
	Settings         Settings
	AvailableModels  []Model
	TokenUsage       TokenUsage // of a loaded session
}

// Model is a model that droid offers. ID goes into Settings.ModelID; ids of
// the user's own models ("custom:…") follow no rule, so never make one up.
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

// UnmarshalJSON decodes the model and keeps its raw JSON. When fields have
// unexpected types only the id is kept.
func (m *Model) UnmarshalJSON(data []byte) error {
	type plain Model
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		var only struct {
			ID string `json:"id"`
		}
		_ = json.Unmarshal(data, &only) // a model without a readable id is of no use, but no error
		p = plain{ID: only.ID}
	}
	p.Raw = append(json.RawMessage(nil), data...)
	*m = Model(p)
	return nil
}

// UnmarshalJSON decodes the result of initialize_session and load_session. One
// message that does not decode does not cost the session: it is counted.
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
