package adapter

import (
	"strconv"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
	"droid-acp/internal/wire"
)

// turnError turns a failed turn into the error that ends its prompt: what
// happened in the provider's and droid's words, then what to do.
func turnError(f *quirks.Failure) *acp.RequestError {
	if isLoginFailure(f) {
		return authRequired()
	}
	reason := f.Reason
	if reason == "" || reason == "error" {
		reason = reasonFromMessage(f.Message)
	}
	said := show.ProviderWords(strings.TrimSpace(f.Message))
	if advice := show.ProviderWords(strings.TrimSpace(f.Advice)); advice != "" && !strings.Contains(said, advice) {
		if strings.Contains(advice, said) {
			said = advice
		} else {
			said += "\n" + advice
		}
	}
	if said == "" {
		said = "droid ended the turn with the reason " + strconv.Quote(reason) + "."
	}
	if remedy := remedies[reason]; remedy != "" {
		said += "\n" + remedy
	}
	return internalError(reason, said)
}

const loginRemedy = "Use the login that your editor offers for this agent, run `droid-acp login` in a terminal, or type /login in droid itself. Or set FACTORY_API_KEY in the environment of this agent and start it again. Then send the prompt again. A custom model in ~/.factory/settings.json needs no login."

// authRequired ends a turn that needs a Factory login.
func authRequired() *acp.RequestError {
	return wire.NewError(-32000, "Authentication required", "droid is not logged in. "+loginRemedy)
}

// isLoginFailure tells a missing Factory login from a model key that the
// provider refused; both carry the reason model_authentication_failed.
func isLoginFailure(f *quirks.Failure) bool {
	return f.Name == "AuthenticationError" || f.Message == "No access token available"
}

// remedies say what to do, by the reasons of agent_turn_completed (0.225).
var remedies = map[string]string{
	"model_authentication_failed": "Check the API key of this model: `apiKey` under customModels in ~/.factory/settings.json, or your Factory login.",
	"model_usage_exhausted":       "The quota or the credits of this model are used up. Add credits or choose another model.",
	"model_rate_limited":          "The provider limits requests at the moment. Wait a little and send the prompt again, or choose another model.",
	"model_provider_unreachable":  "The model's server cannot be reached. Check the network and the model's baseUrl, then send the prompt again.",
	"model_provider_unavailable":  "The model's server does not answer properly. Send the prompt again later, or choose another model.",
	"model_request_rejected":      "The provider rejected the request. If the conversation has grown too long for the model, start a new session or choose a model with a larger context window.",
	stream.ReasonProcessExit:      "droid was ended while it worked. Send the prompt again; droid is started anew if need be.",
	"error":                       "Send the prompt again. If this persists, choose another model and check the model's settings.",
}

// reasonFromMessage finds the reason of a failed turn in the message of a droid that
// gives none (0.99, 0.117) or only "error". Such a message begins with the HTTP
// status of the model's server.
func reasonFromMessage(message string) string {
	status, _, _ := strings.Cut(message, " ")
	code, err := strconv.Atoi(status)
	switch {
	case err != nil && strings.HasPrefix(message, "Connection error"):
		return "model_provider_unreachable"
	case err != nil && strings.Contains(message, "socket connection was closed"):
		return "model_provider_unavailable"
	case err != nil:
		return "error"
	case code == 401 || code == 403:
		return "model_authentication_failed"
	case code == 402:
		return "model_usage_exhausted"
	case code == 429:
		return "model_rate_limited"
	case code == 400 || code == 413:
		return "model_request_rejected"
	case code >= 500:
		return "model_provider_unavailable"
	}
	return "error"
}
