package protocol

import (
	"encoding/json"
	"errors"

	acp "github.com/coder/acp-go-sdk"
)

// SessionMode is a mode that a session can be in (ACP v1).
type SessionMode struct {
	ID          string `json:"id"`
	Name        Line   `json:"name"`
	Description Line   `json:"description,omitzero"`
}

// SessionModes are the modes of a session and the one it is in.
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

// PromptMeta is what this agent has in _meta of a prompt's result, by the name droid-acp; nil where that is nothing.
// failed is the error of a prompt that ends as others do, output what the model answered in the form that the prompt wanted.
func PromptMeta(failed *acp.RequestError, output json.RawMessage) map[string]any {
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

// OutputFormat is the form that a prompt wants its answer to have, in _meta of its params: droid-acp.outputFormat, as droid
// has it. nil is none.
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

// Usage is what the turn of a prompt took, in tokens. Those of the cache are not among
// InputTokens; thoughts are among OutputTokens.
type Usage struct {
	TotalTokens       int64 `json:"totalTokens"`
	InputTokens       int64 `json:"inputTokens"`
	OutputTokens      int64 `json:"outputTokens"`
	ThoughtTokens     int64 `json:"thoughtTokens,omitempty"`
	CachedReadTokens  int64 `json:"cachedReadTokens,omitempty"`
	CachedWriteTokens int64 `json:"cachedWriteTokens,omitempty"`
}

// SessionResult is the result of session/new, load, resume and fork (ACP v1).
// Those that name the session in their params do not repeat its id.
type SessionResult struct {
	SessionID     string         `json:"sessionId,omitempty"`
	Modes         *SessionModes  `json:"modes,omitempty"`
	Models        *SessionModels `json:"models,omitempty"`
	ConfigOptions []ConfigOption `json:"configOptions,omitempty"`
}

// TitleResult is the result of session/set_title (unstable in ACP): what was stored.
type TitleResult struct {
	Title Line `json:"title"`
}

// ListResult is the result of session/list (ACP v1).
type ListResult struct {
	Sessions   []ListedSession `json:"sessions"`
	NextCursor string          `json:"nextCursor,omitempty"`
}

// ListedSession is one stored session. UpdatedAt is in RFC 3339.
type ListedSession struct {
	SessionID string `json:"sessionId"`
	CWD       string `json:"cwd"`
	Title     Line   `json:"title,omitzero"`
	UpdatedAt string `json:"updatedAt"`
	// AdditionalDirectories are known of sessions that are open in this agent.
	AdditionalDirectories []string `json:"additionalDirectories,omitempty"`
}
