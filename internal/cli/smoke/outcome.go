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

// Outcome says how a prompt ended, or a whole run. The words stand in the result and
// stay as they are.
type Outcome string

// Outcomes.
const (
	Passed       Outcome = "passed"
	TurnFailed   Outcome = "turn_failed"         // the turn ended otherwise, or droid failed
	NotInstalled Outcome = "droid_not_installed" // there is no droid
	NotLoggedIn  Outcome = "not_logged_in"       // droid has no login, which its own models need
	ModelFailed  Outcome = "model_failed"        // the call to the model failed
	NotMet       Outcome = "expectation_not_met" // the turn ended well, but not with what was expected
	TimedOut     Outcome = "timeout"             // the time was up
	NotRun       Outcome = "not_run"             // of a prompt alone: one before it failed
)

// exitCodes are the exit codes of the outcomes. 2 is wrong usage, which is no outcome
// of a run.
var exitCodes = map[Outcome]int{
	Passed: 0, TurnFailed: 1, NotInstalled: 3, NotLoggedIn: 4, ModelFailed: 5, NotMet: 6, TimedOut: 7,
}

// ExitCode is what the program exits with after a run with this outcome.
func (o Outcome) ExitCode() int { return exitCodes[o] }

// TimeoutError is the cause of a context's end when the time of a run is up.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string { return fmt.Sprintf("no end within %v", e.After) }

// groups are the outcomes of what package diagnosis tells apart; of all else the turn
// failed.
var groups = map[diagnosis.Group]Outcome{
	diagnosis.NotInstalled: NotInstalled, diagnosis.LoggedOut: NotLoggedIn, diagnosis.ModelFailed: ModelFailed,
}

// outcomeOf says what an error of a run means.
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

// rpcError is the error that answers a request.
type rpcError struct {
	Code    int
	Message string
	Data    any    // json.RawMessage
	method  string // what was asked for
}

func (e *rpcError) Error() string {
	return fmt.Sprintf("%s: %s (code %d)", e.method, e.Message, e.Code)
}

// errorData are the data of an error of the agent's.
type errorData struct {
	Kind    string // the stable word of an internal error, "" of others
	Details string // the words for people, "" where the message has all of them
}

func (e *rpcError) data() (data errorData) {
	if raw, ok := e.Data.(json.RawMessage); ok {
		_ = json.Unmarshal(raw, &data) // of another form they say nothing
	}
	return data
}

// PromptError is the error that ended a prompt.
type PromptError struct {
	Method  string `json:"method,omitempty"` // of ACP, which the agent answered with this error
	Code    int    `json:"code,omitempty"`   // of JSON-RPC, 0 when the agent did not answer
	Kind    string `json:"kind,omitempty"`   // the word of a -32603 (docs/troubleshooting.md)
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
