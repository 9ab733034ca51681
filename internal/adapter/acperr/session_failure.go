package acperr

import (
	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/jsonrpc"
)

// Actions that Air offers for a failure.
const (
	actionRetry      = "retry"
	actionLogin      = "login"
	actionNewSession = "new_session"
)

// failures has, by the words for programs, what Air receives for a failed turn: a category and what the user can do. Others are of the
// category unknown.
var failures = map[string]struct {
	category string
	actions  []string
}{
	string(diagnosis.ModelExhausted):      {"limit", nil},
	string(diagnosis.ModelRateLimited):    {"limit", []string{actionRetry}},
	string(diagnosis.ModelAuthentication): {"access", []string{actionLogin}},
	string(diagnosis.ModelRejected):       {"request", nil},
	string(diagnosis.PromptRejected):      {"request", nil},
	string(diagnosis.BadSchema):           {"request", nil},
	string(diagnosis.ModelUnavailable):    {"service", []string{actionRetry}},
	string(diagnosis.ModelUnreachable):    {"connection", []string{actionRetry, actionNewSession}},
	string(diagnosis.ProcessExit):         {"connection", []string{actionRetry, actionNewSession}},
	"droid_crashed":                       {"connection", []string{actionRetry, actionNewSession}},
	"droid_exited":                        {"connection", []string{actionRetry, actionNewSession}},
	"droid_keeps_crashing":                {"connection", []string{actionNewSession}},
}

// SessionFailure describes the error that ends a turn. ok is false if it is not of the turn: the request was cancelled or refused.
func SessionFailure(err *jsonrpc.Error) (f protocol.SessionFailure, ok bool) {
	f = protocol.SessionFailure{Category: "unknown", Severity: "error", Title: protocol.Line(err.Message), Reason: KindOf(err), Actions: []string{}}
	if text := Text(err); text != err.Message {
		f.Details = protocol.Text(text)
	}
	known := failures[f.Reason]
	switch {
	case err.Code == diagnosis.CodeNotLoggedIn:
		known = failures[string(diagnosis.ModelAuthentication)]
	case err.Code != codeInternal:
		return f, false
	}
	if known.category != "" {
		f.Category = known.category
		f.Actions = append(f.Actions, known.actions...)
	}
	return f, true
}

// retries has the categories of droid's reasons for calling a model again (0.215, 0.225).
var retries = map[string]string{"rate_limited": "limit", "overloaded": "service", "empty_response": "service", "timeout": "connection"}

// RetryWarning describes that droid calls the model again.
func RetryWarning(reason string) protocol.SessionFailure {
	category := retries[reason]
	if category == "" {
		category = "unknown"
	}
	return protocol.SessionFailure{Category: category, Severity: "warning", Title: "The model call failed; droid tries again", Reason: reason, Actions: []string{}}
}
