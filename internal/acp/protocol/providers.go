package protocol

import "encoding/json"

// Methods by which a client sets where the agent finds its models, and asks about logins (unstable in ACP, SDK 2.4.0; logout is stable).
const (
	MethodProvidersList    = "providers/list"
	MethodProvidersSet     = "providers/set"
	MethodProvidersDisable = "providers/disable"
	MethodAuthStatus       = "auth/status"
	MethodLogout           = "logout"
)

// AuthCapabilities are an empty object for each supported method.
type AuthCapabilities struct {
	Logout struct{} `json:"logout"`
	Status struct{} `json:"status"` // auth/status, unstable in ACP
}

// ProvidersResult is the result of providers/list.
type ProvidersResult struct {
	Providers []ProviderInfo `json:"providers"`
}

// ProviderInfo describes a provider that a client can set. It has no headers: they may be secret.
type ProviderInfo struct {
	ProviderID string           `json:"providerId"`
	Supported  []string         `json:"supported"`
	Required   bool             `json:"required"`
	Current    *ProviderCurrent `json:"current,omitempty"` // nil while it is not set
}

// ProviderCurrent is the setting of a provider.
type ProviderCurrent struct {
	APIType string `json:"apiType"`
	BaseURL string `json:"baseUrl"`
}

// SetProviderParams is the params of providers/set.
type SetProviderParams struct {
	ProviderID string            `json:"providerId"`
	APIType    string            `json:"apiType"`
	BaseURL    string            `json:"baseUrl"`
	Headers    map[string]string `json:"headers"`
}

// GatewayOf returns the gateway in the params of authenticate: _meta.gateway, with baseUrl and headers, as claude-agent-acp and codex-acp
// take it. ok is false if there is none.
func GatewayOf(params json.RawMessage) (p SetProviderParams, ok bool) {
	raw := Fields(Fields(params)["_meta"])["gateway"]
	if !isObject(raw) {
		return p, false
	}
	_ = json.Unmarshal(raw, &p) // what is of another form is missing
	return p, true
}

// NoticeResult is an empty result with something for the user.
type NoticeResult struct {
	Meta map[string]any `json:"_meta,omitempty"`
}

// NewNoticeResult returns a result with this text, "" for none.
func NewNoticeResult(text string) NoticeResult {
	if text == "" {
		return NoticeResult{}
	}
	return NoticeResult{map[string]any{"droid-acp": map[string]any{"notice": text}}}
}

// States of auth/status.
const (
	Authenticated   = "authenticated"
	Unauthenticated = "unauthenticated"
	NotRequired     = "not_required"
	UnknownAuth     = "unknown"
)

// AuthStatusResult is the result of auth/status.
type AuthStatusResult struct {
	State    string        `json:"state"`
	Accounts []AuthAccount `json:"accounts,omitempty"`
}

// AuthAccount is a login, or a key, for display.
type AuthAccount struct {
	Label  Line `json:"label"`
	Active bool `json:"active"`
}
