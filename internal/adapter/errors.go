package adapter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
	"droid-acp/internal/visible"
)

// codeResourceNotFound is ACP's "Resource not found", used for unknown sessions.
const codeResourceNotFound = -32002

// details is the error data that Zed shows as it stands, provided that it has
// this one key. Every error of the adapter carries its whole text there.
func details(text string) map[string]string { return map[string]string{"details": visible.Text(text)} }

// inOneLine is a text for the message of an error, which JSON-RPC wants to be a
// short sentence; the data keep its lines.
func inOneLine(text string) string { return visible.Line(strings.Join(strings.Fields(text), " ")) }

func invalidParams(format string, args ...any) *acp.RequestError {
	text := fmt.Sprintf(format, args...)
	return &acp.RequestError{Code: -32602, Message: "Invalid params: " + inOneLine(text), Data: details(text)}
}

func invalidRequest(text string) *acp.RequestError {
	return &acp.RequestError{Code: -32600, Message: "Invalid request: " + inOneLine(text), Data: details(text)}
}

// internalError says what went wrong and what to do about it. kind is a stable
// word at the beginning of the message, for programs.
func internalError(kind, text string) *acp.RequestError {
	return &acp.RequestError{Code: -32603, Message: kind + ": " + inOneLine(text), Data: details(text)}
}

// requestCancelled answers a request that the editor took back by
// $/cancel_request (ACP v1, cancellation).
func requestCancelled() *acp.RequestError {
	return &acp.RequestError{Code: -32800, Message: "Request cancelled", Data: details("the request was cancelled")}
}

func unknownSession(id string) *acp.RequestError {
	text := "There is no session " + strconv.Quote(id) + ". Create one with session/new, or take one that session/list has."
	return &acp.RequestError{Code: codeResourceNotFound, Message: "Unknown session " + strconv.Quote(id) + "; create one with session/new",
		Data: map[string]string{"details": text, "sessionId": id}}
}

const loginRemedy = "Run `droid` in a terminal and log in with /login, or set FACTORY_API_KEY in the environment of this agent, then try again. A custom model in ~/.factory/settings.json needs no login."

func authRequired() *acp.RequestError {
	text := "droid is not logged in. " + loginRemedy
	return &acp.RequestError{Code: -32000, Message: "Authentication required: " + text, Data: details(text)}
}

// startError explains why there is no droid process.
func startError(err error) *acp.RequestError {
	var notFound *droid.NotFoundError
	var exit *droid.ExitError
	switch {
	case errors.Is(err, context.Canceled):
		return acp.NewRequestCancelled(nil)
	case errors.As(err, &notFound):
		return internalError("droid_not_found", notFound.Error()+". "+notFound.Remedy())
	case errors.As(err, &exit):
		return internalError("droid_exited", exitText(exit)+" Check that `droid exec --help` works in a terminal.")
	}
	return internalError("droid_start_failed", "droid could not be started: "+err.Error())
}

// openError explains why a process was not started with a session in it. id is the
// session's, "" for a new one.
func openError(id string, err error) *acp.RequestError {
	var refused *stream.RPCError
	switch {
	case !errors.As(err, &refused):
	case refused.Code == stream.CodeSessionNotFound && id != "":
		return unknownSession(id)
	default:
		return refusal("to open the session", refused)
	}
	if errors.Is(err, errLoadHangs) {
		return internalError("droid_failed", "droid did not load the session: "+err.Error())
	}
	return startError(err)
}

// promptError explains why droid did not take a prompt.
func promptError(err error) *acp.RequestError {
	var refused *stream.RPCError
	var exit *droid.ExitError
	switch {
	case errors.As(err, &refused):
		return refusal("the prompt", refused)
	case errors.As(err, &exit):
		return crashError(err)
	case errors.Is(err, context.Canceled):
		return acp.NewRequestCancelled(nil)
	}
	return internalError("droid_failed", "droid did not take the prompt: "+err.Error())
}

// forkError explains why droid made no copy of a session.
func forkError(err error) *acp.RequestError {
	var refused *stream.RPCError
	var exit *droid.ExitError
	switch {
	case errors.As(err, &refused):
		return refusal("to copy the session", refused)
	case errors.As(err, &exit):
		return crashError(err)
	case errors.Is(err, context.Canceled):
		return acp.NewRequestCancelled(nil)
	}
	return internalError("droid_failed", "droid did not copy the session: "+err.Error())
}

// refusal is droid's no to what it was asked for.
func refusal(what string, err *stream.RPCError) *acp.RequestError {
	return internalError("droid_refused", "droid refused "+what+": "+err.Message)
}

// exitText tells how droid ended, with the last lines of its stderr.
func exitText(exit *droid.ExitError) string {
	text := exit.Error()
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// crashError ends a prompt whose droid died.
func crashError(err error) *acp.RequestError {
	var exit *droid.ExitError
	text := "droid ended unexpectedly."
	if errors.As(err, &exit) {
		text = exitText(exit)
	}
	return internalError("droid_crashed", text+" The next prompt starts droid again and continues this session.")
}

// keepsCrashing refuses to start a droid that dies again and again.
func keepsCrashing(last error) *acp.RequestError {
	text := "droid is gone."
	var exit *droid.ExitError
	if errors.As(last, &exit) {
		text = exitText(exit)
	}
	return internalError("droid_keeps_crashing", fmt.Sprintf("droid died %d times in a row in this session and is not started again. The last time: %s Run `droid` in a terminal to see what is wrong with it, then load the session again or open a new one.", maxCrashes, text))
}

// errEnding answers what comes while the session or the agent ends.
func errEnding() *acp.RequestError {
	return internalError("shutting_down", "the session is ending")
}

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

// reasonFromMessage gives the reason that newer versions would, for the ones
// that give none (0.99, 0.117) or only "error": their messages begin with the
// HTTP status of the model's server.
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
