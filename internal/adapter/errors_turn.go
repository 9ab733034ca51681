package adapter

import (
	"strconv"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/diagnosis"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
	"droid-acp/internal/wire"
)

// turnError turns a failed turn into the error that ends its prompt: what
// happened in the provider's and droid's words, then what to do.
func turnError(f *quirks.Failure) *acp.RequestError {
	if f.WantsLogin() {
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
	if remedy := diagnosis.Model(reason); remedy != "" {
		said += "\n" + remedy
	}
	return internalError(reason, said)
}

// authRequired ends a turn that needs a Factory login.
func authRequired() *acp.RequestError {
	return wire.NewError(diagnosis.CodeNotLoggedIn, "Authentication required", diagnosis.Login().Error()+" Afterwards send the prompt again.")
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
