package adapter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/diagnosis"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/files"
	"droid-acp/internal/turns"
	"droid-acp/internal/wire"
)

// codeResourceNotFound is ACP's "Resource not found", used for unknown sessions.
const codeResourceNotFound = -32002

// codeCancelled is ACP's "Request cancelled".
const codeCancelled = -32800

// errorText is what an error says to a user, without its kind, which is for programs.
func errorText(err *acp.RequestError) string {
	if data, ok := err.Data.(map[string]string); ok && data["details"] != "" {
		return data["details"]
	}
	return err.Message
}

func invalidParams(format string, args ...any) *acp.RequestError {
	return wire.NewError(-32602, "Invalid params", fmt.Sprintf(format, args...))
}

func invalidRequest(text string) *acp.RequestError {
	return wire.NewError(-32600, "Invalid request", text)
}

// internalError says what went wrong and what to do about it. kind is a stable
// word at the beginning of the message, for programs.
func internalError(kind, text string) *acp.RequestError {
	return wire.NewError(-32603, kind, text)
}

// requestCancelled answers a request that the editor took back by
// $/cancel_request (ACP v1, cancellation).
func requestCancelled() *acp.RequestError {
	return &acp.RequestError{Code: codeCancelled, Message: "Request cancelled", Data: wire.Details("the request was cancelled")}
}

// loadCancelled answers what came behind the load that was to open a session, when that was
// cancelled and nothing waited for it.
func loadCancelled() *acp.RequestError {
	return invalidRequest("the session was not opened, since its load was cancelled; load it again")
}

func unknownSession(id string) *acp.RequestError {
	text := "There is no session " + strconv.Quote(id) + ". Create one with session/new, or use one that session/list returns."
	return &acp.RequestError{Code: codeResourceNotFound, Message: "Unknown session " + strconv.Quote(id) + "; create one with session/new",
		Data: map[string]string{"details": text, "sessionId": id}}
}

// errEnding answers what comes while the session or the agent ends.
func errEnding() *acp.RequestError {
	return internalError("shutting_down", "the session is ending; load it again to go on with it")
}

// work is something that droid is asked for, in the words of errors.
type work struct {
	refused string // what follows "droid refused"
	failed  string // what follows "droid did not"
	while   string // what follows "while it"
}

// What droid is asked for.
var (
	openingSession      = work{"to open the session", "open the session", "opened the session"}
	loadingSession      = work{"to open the session", "load the session", "loaded the session"}
	tellingConversation = work{"to tell the conversation", "tell the conversation", "told the conversation"}
	takingPrompt        = work{"the prompt", "take the prompt", "took the prompt"}
	namingSession       = work{"the title", "store the title", "stored the title"}
	copyingSession      = work{"to copy the session", "copy the session", "copied the session"}
)

// notDone explains why droid did not do what it was asked for. The constructors below
// treat cases in which there is more to say.
func notDone(w work, err error) *acp.RequestError {
	var refused *stream.RPCError
	var exit *droid.ExitError
	switch {
	case errors.Is(err, errPanic):
		return errLost()
	case errors.As(err, &refused):
		return internalError("droid_refused", "droid refused "+w.refused+": "+diagnosis.Refusal(refused.Message))
	case errors.As(err, &exit):
		return internalError("droid_crashed", diagnosis.Sentence(exit)+" This happened while it "+w.while+". Try again.")
	case errors.Is(err, files.ErrHangs):
		return internalError("disk_silent", err.Error()+".")
	case errors.Is(err, context.Canceled):
		return requestCancelled()
	}
	return internalError("droid_failed", "droid did not "+w.failed+": "+diagnosis.Sentence(err)+" Try again.")
}

// outOfTime returns err, or the cause of ctx's end if err says that time ran out.
func outOfTime(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return err
}

// notStartedError marks that a process was not even started.
type notStartedError struct{ err error }

func (e *notStartedError) Error() string { return e.err.Error() }
func (e *notStartedError) Unwrap() error { return e.err }

// startError explains why there is no droid process.
func startError(err error) *acp.RequestError {
	if errors.Is(err, context.Canceled) {
		return requestCancelled()
	}
	why := diagnosis.Start(err)
	if why.Kind == diagnosis.NotFound { // it has all there is to know
		return internalError(string(why.Kind), why.Error())
	}
	return internalError(string(why.Kind), why.Error()+" "+diagnosis.MoreWords())
}

// openError explains why no process opened the session. id is the session's, "" for a
// new one.
func openError(id string, err error) *acp.RequestError {
	var notStarted *notStartedError
	var refused *stream.RPCError
	var exit *droid.ExitError
	var elsewhere *elsewhereError
	var untrusted *untrustedError
	switch {
	case errors.As(err, &untrusted):
		return internalError("project_not_trusted", untrusted.Error())
	case errors.As(err, &notStarted):
		return startError(notStarted.err)
	case errors.As(err, &refused) && refused.Code == stream.CodeSessionNotFound && id != "":
		return unknownSession(id)
	case errors.As(err, &elsewhere):
		return internalError("cwd_refused", diagnosis.Sentence(elsewhere)+" Or open it with the cwd "+elsewhere.was+".")
	case errors.As(err, &exit) && !exit.Started:
		return startError(exit)
	case errors.As(err, &exit):
		return internalError("droid_exited", diagnosis.Sentence(exit)+" This happened while it opened the session. Try again; if droid ends again, "+diagnosis.MoreWords())
	}
	return notDone(openingSession, err)
}

// restartError explains why the session has no process: the one that was started for
// it did not open it.
func (s *Session) restartError(err error) *acp.RequestError {
	var refused *stream.RPCError
	if s.out.Known() && errors.As(err, &refused) && refused.Code != stream.CodeSessionNotFound {
		return internalError("droid_refused", "droid was started again for this session and refused to open it: "+strings.TrimSuffix(diagnosis.Refusal(refused.Message), ".")+". The next prompt tries again.")
	}
	return openError(s.id, err)
}

// loadError explains why the process of the session did not load it once more.
func (s *Session) loadError(w work, err error) *acp.RequestError {
	var refused *stream.RPCError
	var exit *droid.ExitError
	switch {
	case errors.As(err, &refused) && refused.Code == stream.CodeSessionNotFound:
		return unknownSession(s.id)
	case errors.As(err, &exit):
		return s.crashError(err)
	}
	return notDone(w, err)
}

// promptError explains why droid did not take a prompt.
func (s *Session) promptError(err error) *acp.RequestError {
	var exit *droid.ExitError
	if errors.As(err, &exit) {
		return s.crashError(err)
	}
	return notDone(takingPrompt, err)
}

// copyNotOpened explains that droid copied a session but no process opened the copy,
// which has this id.
func copyNotOpened(id string, err error) *acp.RequestError {
	why := openError("", err)
	kind, _, internal := strings.Cut(why.Message, ":")
	if !internal {
		return why
	}
	return internalError(kind, "droid copied the session, but the copy "+id+" was not opened: "+strings.TrimSuffix(errorText(why), ".")+". The copy is among the sessions of session/list.")
}

// settingError explains why droid did not change a setting.
func settingError(kind, what string, err error) *acp.RequestError {
	why := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		why = fmt.Sprintf("droid did not answer within %d s. Try again.", settingsTime/time.Second)
	}
	return internalError(kind+"_refused", "droid did not change its "+what+": "+why)
}

// modeNotSet refuses a prompt that was sent behind a change of the mode which failed.
func modeNotSet(wanted, is string, why *acp.RequestError) *acp.RequestError {
	return internalError("mode_not_set", fmt.Sprintf("the prompt was not sent, because the mode did not become %q before it as you had asked: %s. "+
		"The mode is %q, in which droid asks less. Set the mode again, then send the prompt again.", wanted, strings.TrimSuffix(errorText(why), "."), is))
}

// modeLost refuses a prompt because a droid that was started again, or loaded the session
// again, did not take its mode back.
func modeLost(wanted, is string, why error) *acp.RequestError {
	said := "it accepted the request without obeying it"
	if why != nil {
		said = strings.TrimSuffix(why.Error(), ".")
	}
	return internalError("mode_lost", fmt.Sprintf("the prompt was not sent, because droid loaded the session again and did not take its mode %q back: %s. "+
		"The mode is %q, in which droid asks less. Choose a mode, then send the prompt again.", wanted, said, is))
}

func crashRemedy() string {
	return "Run " + diagnosis.Command("doctor") + " in a terminal to see what is wrong with it, then load the session again or open a new one."
}

// droidDied is why the turn machine ends prompts when droid has died. What the user
// reads depends on how often it has, see crashError.
type droidDied struct{ exit error }

func (e droidDied) Error() string { return crashText(e.exit, "droid ended unexpectedly.") }

// crashError answers what droid was working on when it died.
func (s *Session) crashError(err error) *acp.RequestError {
	next := "The next prompt starts droid again and continues this session."
	if s.prompts.machine.GaveUp() {
		next = fmt.Sprintf("It has died %d times in a row in this session and is not started again. ", turns.MaxCrashes) + crashRemedy()
	}
	return internalError("droid_crashed", crashText(err, "droid ended unexpectedly.")+" "+next)
}

// keepsCrashing refuses to start a droid that dies again and again.
func keepsCrashing(last error) *acp.RequestError {
	return internalError("droid_keeps_crashing", fmt.Sprintf("droid died %d times in a row in this session and is not started again. The last time: %s ", turns.MaxCrashes, crashText(last, "droid is gone."))+crashRemedy())
}

// crashText tells how droid ended, with the last lines of its stderr. It returns
// unknown if err does not tell.
func crashText(err error, unknown string) string {
	var exit *droid.ExitError
	if errors.As(err, &exit) {
		return diagnosis.Sentence(exit)
	}
	return unknown
}
