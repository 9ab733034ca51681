package protocol

import (
	"encoding/json"
	"errors"

	acp "github.com/coder/acp-go-sdk"
)

// SessionMode is a mode that a session can be in (ACP v1).
type SessionMode struct {
	ID          string   `json:"id"`
	Name        Line     `json:"name"`
	Description Line     `json:"description,omitzero"`
	Meta        *OnlyAir `json:"_meta,omitempty"`
}

// SessionModes are the available modes and the current one.
type SessionModes struct {
	CurrentModeID  string        `json:"currentModeId"`
	AvailableModes []SessionMode `json:"availableModes"`
}

// PromptResult is the result of session/prompt (ACP v1).
type PromptResult struct {
	StopReason acp.StopReason `json:"stopReason"`
	Usage      *Usage         `json:"usage,omitempty"` // unstable in ACP
	Meta       map[string]any `json:"_meta,omitempty"`
}

// PromptMeta returns the _meta of a prompt's result, nil if empty. failed is the error of a prompt that nevertheless ends with a stop
// reason, output the structured output that the prompt requested.
func PromptMeta[E any](failed *E, output json.RawMessage) map[string]any {
	own := map[string]any{}
	if failed != nil {
		own["error"] = failed
	}
	if output != nil {
		own["structuredOutput"] = output
	}
	if len(own) == 0 {
		return nil
	}
	return map[string]any{"droid-acp": own}
}

// OutputFormat returns the JSON schema that a prompt requests in _meta.droid-acp.outputFormat, in droid's format; nil if none.
func OutputFormat(meta json.RawMessage) (schema json.RawMessage, err error) {
	raw, wanted := Fields(Fields(meta)["droid-acp"])["outputFormat"]
	if !wanted || string(raw) == "null" {
		return nil, nil
	}
	var format struct {
		Type   string
		Schema json.RawMessage
	}
	if json.Unmarshal(raw, &format) != nil || format.Type != "json_schema" || !isObject(format.Schema) {
		return nil, errors.New(`_meta.droid-acp.outputFormat must be {"type": "json_schema", "schema": {…}}`)
	}
	return format.Schema, nil
}

// Usage is the token usage of a prompt's turn. InputTokens excludes cached tokens; OutputTokens includes thoughts.
type Usage struct {
	TotalTokens       int64 `json:"totalTokens"`
	InputTokens       int64 `json:"inputTokens"`
	OutputTokens      int64 `json:"outputTokens"`
	ThoughtTokens     int64 `json:"thoughtTokens,omitempty"`
	CachedReadTokens  int64 `json:"cachedReadTokens,omitempty"`
	CachedWriteTokens int64 `json:"cachedWriteTokens,omitempty"`
}

// SessionResult is the result of session/new, load, resume and fork (ACP v1). The ID is omitted if the params name the session.
type SessionResult struct {
	SessionID     string         `json:"sessionId,omitempty"`
	Modes         *SessionModes  `json:"modes,omitempty"`
	Models        *SessionModels `json:"models,omitempty"`
	ConfigOptions []ConfigOption `json:"configOptions,omitempty"`
}

// TitleResult is the result of session/set_title (unstable in ACP): the stored title.
type TitleResult struct {
	Title Line `json:"title"`
}

// StatusResult is the result of session/status (unstable in ACP). Status is "open" or "saved".
type StatusResult struct {
	Status string `json:"status"`
}

// ListResult is the result of session/list (ACP v1).
type ListResult struct {
	Sessions   []ListedSession `json:"sessions"`
	NextCursor string          `json:"nextCursor,omitempty"`
}

// ListedSession is a stored session. UpdatedAt is in RFC 3339 format.
type ListedSession struct {
	SessionID string `json:"sessionId"`
	CWD       string `json:"cwd"`
	Title     Line   `json:"title,omitzero"`
	UpdatedAt string `json:"updatedAt"`
	Archived  bool   `json:"archived"` // unstable in ACP
	// AdditionalDirectories is set for sessions that are open in this agent.
	AdditionalDirectories []string `json:"additionalDirectories,omitempty"`
	Meta                  *OnlyAir `json:"_meta,omitempty"` // an AirRow
}
