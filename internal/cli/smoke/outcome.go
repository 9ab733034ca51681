package smoke

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"droid-acp/internal/droid/diagnosis"
)

// Outcome says how a prompt, or a whole run, ended. The values are part of the result's format.
type Outcome string

// Outcomes.
const (
	Passed       Outcome = "passed"
	TurnFailed   Outcome = "turn_failed"         // the turn ended differently, or droid failed
	NotInstalled Outcome = "droid_not_installed" // there is no droid
	NotLoggedIn  Outcome = "not_logged_in"       // droid has no login, which its own models need
	ModelFailed  Outcome = "model_failed"        // the call of the model failed
	NotMet       Outcome = "expectation_not_met" // the turn ended normally, without what was expected
	TimedOut     Outcome = "timeout"             // the time limit was exceeded
	NotRun       Outcome = "not_run"             // for a prompt only: a previous one failed
)

// exitCodes are the exit codes of the outcomes. 2 is wrong usage, which is not an outcome of a run.
var exitCodes = map[Outcome]int{
	Passed: 0, TurnFailed: 1, NotInstalled: 3, NotLoggedIn: 4, ModelFailed: 5, NotMet: 6, TimedOut: 7,
}

// ExitCode returns the program's exit code for a run with this outcome.
func (o Outcome) ExitCode() int { return exitCodes[o] }

// TimeoutError is the cause of a context's end when the time limit of a run is exceeded.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string { return fmt.Sprintf("no end within %v", e.After) }

// groups maps the groups of package diagnosis to outcomes; any other group is TurnFailed.
var groups = map[diagnosis.Group]Outcome{
	diagnosis.NotInstalled: NotInstalled, diagnosis.LoggedOut: NotLoggedIn, diagnosis.ModelFailed: ModelFailed,
}

// outcomeOf returns the outcome for an error of a run.
func outcomeOf(err error) Outcome {
	said, refused := errors.AsType[*rpcError](err)
	switch {
	case err == nil:
		return Passed
	case errors.As(err, new(*TimeoutError)):
		return TimedOut
	case !refused:
		return TurnFailed
	}
	return cmp.Or(groups[diagnosis.GroupOf(said.Code, said.data().Kind)], TurnFailed)
}

// rpcError is an error response.
type rpcError struct {
	Code    int
	Message string
	Data    any    // json.RawMessage
	method  string // of the request
}

func (e *rpcError) Error() string {
	return fmt.Sprintf("%s: %s (code %d)", e.method, e.Message, e.Code)
}

// errorData is the data of an agent's error.
type errorData struct {
	Kind    string // the identifier of an internal error, "" for others
	Details string // the text for people, "" if the message has all of it
}

func (e *rpcError) data() (data errorData) {
	if raw, ok := e.Data.(json.RawMessage); ok {
		_ = json.Unmarshal(raw, &data) // data of another type has neither
	}
	return data
}

// PromptError is the error that ended a prompt.
type PromptError struct {
	Method  string `json:"method,omitempty"` // of ACP, that the agent answered with this error
	Code    int    `json:"code,omitempty"`   // of JSON-RPC, 0 if the agent did not answer
	Kind    string `json:"kind,omitempty"`   // the identifier of a -32603 (docs/troubleshooting.md)
	Message string `json:"message"`          // for people, may have several lines
}

func promptErrorOf(err error) *PromptError {
	if errors.Is(err, context.Canceled) {
		return &PromptError{Message: "interrupted"}
	}
	said, refused := errors.AsType[*rpcError](err)
	if !refused {
		return &PromptError{Message: err.Error()}
	}
	return &PromptError{Method: said.method, Code: said.Code, Kind: said.data().Kind, Message: cmp.Or(said.data().Details, said.Message)}
}
