// Package gateway knows a gateway to models that a client sets (ACP's providers/set): whether it may be used, which models it lists, and the
// custom models that droid gets for it. A Gateway holds keys; nothing here returns, prints or logs them but CustomModels.
package gateway

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"droid-acp/internal/droid"
	"droid-acp/internal/text/visible"
)

// ProviderID is the ID of the only provider that a client can set.
const ProviderID = "main"

// modelPrefix begins the ID of each model of the provider. droid keeps such IDs and counts no model of the user's differently because of
// them (0.99 to 0.225). A session stores the ID, so it does not depend on the address.
const modelPrefix = "custom:" + ProviderID + ":"

// APIs of a gateway, as ACP calls them.
const (
	OpenAI    = "openai"
	Anthropic = "anthropic"
)

// APITypes returns the APIs that a gateway may have.
func APITypes() []string { return []string{OpenAI, Anthropic} }

// Gateway is a gateway that a client set. Its String and Format have no keys.
type Gateway struct {
	APIType string
	BaseURL string // as the client set it

	url     *url.URL
	headers map[string]string // may be secret
}

// Limits of what a client may set.
const (
	maxURL         = 2 << 10 // bytes
	maxHeaders     = 64
	maxHeaderBytes = 32 << 10 // of all names and values
)

// New returns a gateway. The error says what is wrong, and has no value of a header in it.
func New(apiType, baseURL string, headers map[string]string) (*Gateway, error) {
	if !slices.Contains(APITypes(), apiType) {
		return nil, fmt.Errorf("unknown apiType %q; this provider takes %s", visible.Line(apiType), strings.Join(APITypes(), " and "))
	}
	u, err := parseURL(baseURL)
	if err != nil {
		return nil, err
	}
	if err := checkHeaders(headers); err != nil {
		return nil, err
	}
	return &Gateway{APIType: apiType, BaseURL: baseURL, url: u, headers: maps.Clone(headers)}, nil
}

// parseURL checks a base URL. The errors do not repeat it: it may hold a password.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || len(text) > maxURL || u.Host == "" || u.Opaque != "" || strings.Contains(text, "${"): // which droid would replace
		return nil, errors.New("baseUrl is no absolute URL; it is like https://models.example.com/v1")
	case u.User != nil:
		return nil, errors.New("baseUrl has a user name or a password in it; send credentials as headers")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(text, "#"):
		return nil, errors.New("baseUrl has a query or a fragment; send keys as headers")
	case u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()):
		return u, nil
	case u.Scheme == "http":
		return nil, errors.New("baseUrl is plain http to another machine, where everybody between could read the keys; use https")
	}
	return nil, errors.New("baseUrl is neither https nor http")
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// checkHeaders refuses headers that cannot be sent.
func checkHeaders(headers map[string]string) error {
	size := 0
	for name, value := range headers {
		size += len(name) + len(value)
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isTokenRune(r) }) {
			return fmt.Errorf("the header name %.80q is not valid", visible.Line(name))
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fmt.Errorf("the value of the header %s has control characters", name)
		}
	}
	if len(headers) > maxHeaders || size > maxHeaderBytes {
		return fmt.Errorf("more than %d headers, or more than %d bytes in them", maxHeaders, maxHeaderBytes)
	}
	return nil
}

// isTokenRune reports whether a header name may contain r (RFC 9110, 5.6.2).
func isTokenRune(r rune) bool {
	return r > ' ' && r < 0x7f && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

// Equal reports whether both are the same gateway with the same headers.
func (g *Gateway) Equal(other *Gateway) bool {
	if g == nil || other == nil {
		return g == other
	}
	return g.APIType == other.APIType && g.BaseURL == other.BaseURL && maps.Equal(g.headers, other.headers)
}

// Host returns the gateway's host, for users.
func (g *Gateway) Host() string { return visible.Line(g.url.Host) }

// String returns a text without keys.
func (g *Gateway) String() string { return "provider " + ProviderID + " at " + g.Host() }

// Format implements fmt.Formatter, so that no verb prints the headers.
func (g *Gateway) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(g.String())) } // which reports its own errors

// Provides reports whether a model's ID is of the provider, and returns the model's name at the gateway.
func Provides(modelID string) (name string, ok bool) { return strings.CutPrefix(modelID, modelPrefix) }

// placeholderKey is the key of the models in droid's settings, which calls no model without one (0.99) and replaces "${NAME}" in it. The
// headers override what droid makes of it (0.99 to 0.225).
const placeholderKey = "none"

// CustomModels returns the models for droid's settings. They have the headers in them.
func (g *Gateway) CustomModels(list List) []droid.CustomModel {
	base, provider, headers := list.base, "generic-chat-completion-api", g.headers
	if g.APIType == Anthropic {
		base, provider, headers = strings.TrimSuffix(base, "/v1"), "anthropic", g.withKey() // droid adds /v1/messages
	}
	models := make([]droid.CustomModel, 0, len(list.Names))
	for _, name := range list.Names {
		models = append(models, droid.CustomModel{
			ID: modelPrefix + name, Model: name, DisplayName: name + " (" + g.Host() + ")", BaseURL: base, Provider: provider,
			APIKey: placeholderKey, ExtraHeaders: headers,
		})
	}
	return models
}

// withKey returns the headers with x-api-key, which droid sends in any case to an API of Anthropic's kind: a gateway must not find the
// placeholder there if the client authenticates by a bearer token.
func (g *Gateway) withKey() map[string]string {
	headers := maps.Clone(g.headers)
	token := ""
	for name, value := range headers {
		if strings.EqualFold(name, "x-api-key") {
			return headers
		}
		if bearer, ok := strings.CutPrefix(value, "Bearer "); ok && strings.EqualFold(name, "Authorization") {
			token = bearer
		}
	}
	if token != "" {
		headers["x-api-key"] = token
	}
	return headers
}

// HasKeys reports whether the client set headers, which are taken for keys.
func (g *Gateway) HasKeys() bool { return len(g.headers) > 0 }
