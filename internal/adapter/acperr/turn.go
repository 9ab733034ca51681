package acperr

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/accounts"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/login"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
)

// Turn turns a failed turn into the error that ends its prompt: what
// happened in the provider's and droid's words, then what to do.
func Turn(f *quirks.Failure) *jsonrpc.Error {
	if f.WantsLogin() {
		return jsonrpc.NewError(diagnosis.CodeNotLoggedIn, "Authentication required", diagnosis.LoginRequired().Error()+" Afterwards send the prompt again.")
	}
	reason := f.Reason
	if !f.Typed {
		reason = reasonFromMessage(f.Message)
	}
	large := tooLarge(f.Message)
	if diagnosis.Kind(reason) == diagnosis.ModelRejected && f.Message != "" && !large {
		return Internal(reason, rejected(f))
	}
	said := render.ProviderMessage(strings.TrimSpace(f.Message))
	if advice := render.ProviderMessage(strings.TrimSpace(f.Advice)); advice != "" && !strings.Contains(said, advice) {
		if strings.Contains(advice, said) {
			said = advice
		} else {
			said += "\n\n" + advice
		}
	}
	if said == "" {
		said = "droid ended the turn with the reason " + strconv.Quote(reason) + "."
	}
	remedy := diagnosis.ModelRemedy(reason)
	if large {
		remedy = diagnosis.TooLargeRemedy
	}
	if remedy != "" {
		said += "\n\n" + remedy
	}
	return Internal(reason, said)
}

// rejected says why the provider rejected a request, and then what to do.
func rejected(f *quirks.Failure) string {
	cause := render.ProviderMessage(strings.TrimSpace(f.Message))
	said := cause + behindCause()
	if ofLength().MatchString(cause) {
		return said + " " + diagnosis.TooLongRemedy
	}
	for part := range strings.SplitSeq(render.ProviderMessage(strings.TrimSpace(f.Advice)), "\n\n") {
		if strings.HasPrefix(part, "Troubleshooting tips for custom models:") { // a list (0.99 to 0.225)
			part = diagnosis.CustomModelRemedy
		}
		if part != "" && !strings.Contains(part, cause) && !strings.Contains(cause, part) {
			said += "\n\n" + part
		}
	}
	return said
}

// behindCause follows the cause, with which rejected begins.
func behindCause() string { return "\n\n" + diagnosis.ModelRemedy(string(diagnosis.ModelRejected)) }

// ofLength matches what providers say of a conversation that is too long for the model.
var ofLength = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bcontext|too long|input length|too many (input )?tokens|token count|maximum number of tokens|reduce the length`)
})

// tooLarge reports whether a message says that the model's server refused the size of the request: HTTP status 413, which 0.225 puts behind
// a text of droid's.
func tooLarge(message string) bool {
	status, _, _ := strings.Cut(strings.TrimPrefix(message, "BYOK Error: "), " ")
	return status == "413"
}

// reasonFromMessage finds the reason of a failed turn in the message of a droid that
// gives none (0.99). Such a message begins with the HTTP
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

// Login explains why droid did not log in. What droid says itself keeps its code.
func Login(method string, err error) *jsonrpc.Error {
	var refused *login.Error
	var died *login.DiedError
	var underWay *accounts.UnderWayError
	remedy := login.Remedy(method, err)
	text := diagnosis.Sentence(err) + " " + remedy
	switch {
	case errors.As(err, &refused) && method == login.APIKey && strings.Contains(refused.Message, "No authentication available"): // 0.225
		return jsonrpc.PlainError(refused.Code, "FACTORY_API_KEY is not set. Set it where the editor starts this agent, and start the agent again.")
	case errors.As(err, &refused):
		return jsonrpc.PlainError(refused.Code, text)
	case errors.As(err, &underWay):
		return InvalidRequest(err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, wire.ErrGone):
		return Cancelled()
	case diagnosis.IsStart(err):
		return NotStarted(err)
	case errors.As(err, &died):
		return Internal("droid_crashed", text)
	case errors.Is(err, login.ErrTime), errors.Is(err, login.ErrStartTime):
		return Internal("login_timed_out", text)
	case errors.Is(err, login.ErrDeclined):
		return Internal("login_declined", text)
	}
	return Internal("login_failed", text)
}

// Stop says in ACP's words how a prompt ended. What the user refused ends with end_turn, too: ACP's
// refusal is the model's, and clients throw away the turn that it ends. gaveUp says that droid is not
// started again.
func Stop(end turns.End, gaveUp bool) (acp.StopReason, *jsonrpc.Error) {
	var err *jsonrpc.Error
	var died Died
	switch {
	case errors.As(end.Err, &died):
		return "", Crash(died.Exit, gaveUp)
	case errors.As(end.Err, &err):
		return "", err
	case errors.Is(end.Err, turns.ErrInterrupted):
		return "", Internal("interrupted", end.Err.Error()+". Send it again.")
	case end.Err != nil:
		return "", Internal("internal_error", end.Err.Error())
	case end.Cancelled:
		return acp.StopReasonCancelled, nil
	}
	return acp.StopReasonEndTurn, nil
}
