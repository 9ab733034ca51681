// Package acperr makes the errors of ACP's responses: what happened and what to do about it for people; a code, and a stable word in
// its data, for programs. adapter and the packages below it use it. An error that is one of ACP's already stays as it is.
package acperr

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/files"
)

// Codes of ACP.
const (
	CodeNoSession = -32002 // "Resource not found", used for unknown sessions
	CodeCancelled = -32800 // "Request cancelled"
	codeInternal  = -32603
)

// Text returns the text of an error for a user, without its kind, which is for programs.
func Text(err *jsonrpc.Error) string {
	if data, ok := err.Data.(map[string]string); ok && data["details"] != "" {
		return data["details"]
	}
	return err.Message
}

// InvalidParams refuses a request for what it says of its params.
func InvalidParams(format string, args ...any) *jsonrpc.Error {
	return jsonrpc.NewError(-32602, "Invalid params", fmt.Sprintf(format, args...))
}

// InvalidRequest refuses a request that cannot be taken now, or at all.
func InvalidRequest(text string) *jsonrpc.Error {
	return jsonrpc.NewError(-32600, "Invalid request", text)
}

// Internal says what went wrong and what to do about it. kind is the word for programs.
func Internal(kind, text string) *jsonrpc.Error {
	if rest, lower := strings.CutPrefix(text, "the "); lower { // an error of Go's, and not the name droid
		text = "The " + rest
	}
	return jsonrpc.InternalError(kind, text)
}

// CommandFailed is the error of a slash command whose prompt was answered with why.
func CommandFailed(why string) *jsonrpc.Error { return Internal("command_failed", why) }

// Cancelled answers a request that the editor took back by $/cancel_request (ACP v1,
// cancellation).
func Cancelled() *jsonrpc.Error {
	return &jsonrpc.Error{Code: CodeCancelled, Message: "Request cancelled", Data: jsonrpc.Details("the request was cancelled")}
}

// Ending answers what comes while the session or the agent ends.
func Ending() *jsonrpc.Error {
	return Internal("shutting_down", "The session is ending; load it again to go on with it")
}

// Lost answers a request whose work was lost in a panic.
func Lost() *jsonrpc.Error {
	return Internal("internal_error", "droid-acp failed while the session worked on this. The details are in its log; please report this.")
}

// Panicked returns the error for a panic in this program.
func Panicked(p any) *jsonrpc.Error {
	return Internal("internal_error", fmt.Sprintf("droid-acp failed: %v. The details are in its log; please report this.", p))
}

// UnknownSession refuses what names a session that is not there.
func UnknownSession(id string) *jsonrpc.Error {
	text := "There is no session " + strconv.Quote(id) + ". Create one with session/new, or use one that session/list returns."
	return &jsonrpc.Error{Code: CodeNoSession, Message: text, Data: map[string]string{"details": text, "sessionId": id}}
}

// Work is something that droid is asked for, in the words of errors.
type Work struct {
	refused string // what follows "droid refused"
	failed  string // what follows "droid did not"
	while   string // what follows "while it"
}

// What droid is asked for.
var (
	Opening = Work{"to open the session", "open the session", "opened the session"}
	Loading = Work{"to open the session", "load the session", "loaded the session"}
	Telling = Work{"to tell the conversation", "tell the conversation", "told the conversation"}
	Naming  = Work{"the title", "store the title", "stored the title"}
	Copying = Work{"to copy the session", "copy the session", "copied the session"}

	takingPrompt = Work{"the prompt", "take the prompt", "took the prompt"}
)

// NotDone explains why droid did not do what it was asked for. The functions below
// treat cases in which there is more to say.
func NotDone(w Work, err error) *jsonrpc.Error {
	var ready *jsonrpc.Error
	var refused *stream.RPCError
	var exit *droid.ExitError
	var old *stream.TooOldError
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &old):
		return Internal("droid_too_old", old.Error())
	case errors.As(err, &refused):
		return Internal("droid_refused", "droid refused "+w.refused+": "+diagnosis.Refusal(refused.Message))
	case errors.As(err, &exit):
		return Internal("droid_crashed", diagnosis.Ended(exit)+" This happened while it "+w.while+". Try again.")
	case errors.Is(err, files.ErrHangs):
		return Internal("disk_silent", err.Error()+".")
	case errors.Is(err, context.Canceled):
		return Cancelled()
	}
	return Internal("droid_failed", "droid did not "+w.failed+": "+diagnosis.Sentence(err)+" Try again.")
}

// NotStarted explains why there is no droid process.
func NotStarted(err error) *jsonrpc.Error {
	if errors.Is(err, context.Canceled) {
		return Cancelled()
	}
	why := diagnosis.Start(err)
	if why.Kind == diagnosis.NotFound { // it has all there is to know
		return Internal(string(why.Kind), why.Error())
	}
	return Internal(string(why.Kind), why.Error()+" "+diagnosis.DoctorHint())
}

// NotOpened explains why no process opened the session. id is the session's, "" for a
// new one.
func NotOpened(id string, err error) *jsonrpc.Error {
	var refused *stream.RPCError
	var exit *droid.ExitError
	switch {
	case errors.As(err, &refused) && refused.Code == stream.CodeSessionNotFound && id != "":
		return UnknownSession(id)
	case errors.As(err, &exit) && !exit.Started:
		return NotStarted(exit)
	case errors.As(err, &exit):
		return Internal("droid_exited", diagnosis.Ended(exit)+" This happened while it opened the session. Try again; if droid ends again, "+diagnosis.DoctorHint())
	}
	return NotDone(Opening, err)
}

// NotRestarted explains why a session has no process: the one that was started for it did not
// open it. known is whether the editor knows the session.
func NotRestarted(id string, known bool, err error) *jsonrpc.Error {
	var refused *stream.RPCError
	if known && errors.As(err, &refused) && refused.Code != stream.CodeSessionNotFound {
		return Internal("droid_refused", "droid was started again for this session and refused to open it: "+strings.TrimSuffix(diagnosis.Refusal(refused.Message), ".")+". The next prompt tries again.")
	}
	return NotOpened(id, err)
}

// CopyNotOpened explains that droid copied a session but no process opened the copy,
// which has this id.
func CopyNotOpened(id string, err error) *jsonrpc.Error {
	why := NotOpened("", err)
	kind := KindOf(why)
	if kind == "" {
		return why
	}
	return Internal(kind, "droid copied the session, but the copy "+id+" was not opened: "+strings.TrimSuffix(Text(why), ".")+". The copy is among the sessions of session/list.")
}

// NotSet explains why droid did not change a setting within limit.
func NotSet(kind, what string, limit time.Duration, err error) *jsonrpc.Error {
	why := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		why = fmt.Sprintf("droid did not answer within %d s. Try again.", limit/time.Second)
	}
	return Internal(kind+"_refused", "droid did not change its "+what+": "+why)
}

// ModeNotSet refuses a prompt that was sent behind a change of the mode which failed.
func ModeNotSet(wanted, is string, why *jsonrpc.Error) *jsonrpc.Error {
	return Internal("mode_not_set", fmt.Sprintf("The prompt was not sent, because the mode did not become %q before it as you had asked: %s. "+
		"The mode is %q, in which droid asks less. Set the mode again, then send the prompt again.", wanted, strings.TrimSuffix(Text(why), "."), is))
}

// ModelNotSet refuses a prompt that was sent behind a change of the model which failed: another model would get it. wanted is in words. The
// response to the change says why.
func ModelNotSet(wanted string) *jsonrpc.Error {
	return Internal("model_not_set", fmt.Sprintf("The prompt was not sent, because droid did not take %q before it as you had asked. Choose a model, then send the prompt again.", wanted))
}

// NotTakenBack refuses a prompt that was sent behind a command which was to take something from droid, and failed.
func NotTakenBack(command string, why error) *jsonrpc.Error {
	text := why.Error()
	if told, ok := errors.AsType[*jsonrpc.Error](why); ok {
		text = Text(told)
	}
	return Internal("not_taken_back", fmt.Sprintf("The prompt was not sent, because `%s` before it failed: %s. Send that again, or the prompt alone.", command, strings.TrimSuffix(text, ".")))
}

// ModeLost refuses a prompt because a droid that was started again, or loaded the session
// again, did not take its mode back.
func ModeLost(wanted, is string, why error) *jsonrpc.Error {
	said := "it accepted the request without obeying it"
	if why != nil {
		said = strings.TrimSuffix(why.Error(), ".")
	}
	return Internal("mode_lost", fmt.Sprintf("The prompt was not sent, because droid loaded the session again and did not take its mode %q back: %s. "+
		"The mode is %q, in which droid asks less. Choose a mode, then send the prompt again.", wanted, said, is))
}

// Died is the error with which the turn machine ends prompts when droid has died. What the user reads depends
// on how often it has, see Crash.
type Died struct{ Exit error }

func (e Died) Error() string { return crashText(e.Exit, "droid ended unexpectedly.") }

func crashRemedy() string {
	return "Run " + diagnosis.Command("doctor") + " in a terminal to see what is wrong with it, then load the session again or open a new one."
}

// Crash answers what droid was working on when it died. gaveUp says that it has died so often
// that it is not started again.
func Crash(err error, gaveUp bool) *jsonrpc.Error {
	next := "The next prompt starts droid again and continues this session."
	if gaveUp {
		next = fmt.Sprintf("It has died %d times in a row in this session and is not started again. ", turns.MaxCrashes) + crashRemedy()
	}
	return Internal("droid_crashed", Died{Exit: err}.Error()+" "+next)
}

// NotLooked returns the error of a prompt that droid did not get because the project could not be checked.
func NotLooked(dir string, err error) *jsonrpc.Error {
	return Internal("disk_silent", fmt.Sprintf("It could not be seen what the project in %s brings to run (%v), so droid was not asked. Try again when its files can be read.", dir, err))
}

// NotTaken explains why droid, which has not ended, did not take a prompt.
func NotTaken(err error) *jsonrpc.Error { return NotDone(takingPrompt, err) }

// NotLoaded explains why the process of a session did not load it once more.
func NotLoaded(w Work, id string, err error, gaveUp bool) *jsonrpc.Error {
	var refused *stream.RPCError
	var exit *droid.ExitError
	switch {
	case errors.As(err, &refused) && refused.Code == stream.CodeSessionNotFound:
		return UnknownSession(id)
	case errors.As(err, &exit):
		return Crash(err, gaveUp)
	}
	return NotDone(w, err)
}

// KeepsCrashing refuses to start a droid that dies again and again.
func KeepsCrashing(last error) *jsonrpc.Error {
	return Internal("droid_keeps_crashing", fmt.Sprintf("droid died %d times in a row in this session and is not started again. The last time: %s ", turns.MaxCrashes, crashText(last, "droid is gone."))+crashRemedy())
}

// crashText describes how droid ended, with the last lines of its stderr, or returns unknown if err does not have that.
func crashText(err error, unknown string) string {
	var exit *droid.ExitError
	if errors.As(err, &exit) {
		return diagnosis.Ended(exit)
	}
	return unknown
}

// KindOf returns the word by which programs know an internal error, "" of others and where it is no word.
func KindOf(err *jsonrpc.Error) string {
	data, _ := err.Data.(map[string]string)
	if kind := data["kind"]; err.Code == codeInternal && isKind().MatchString(kind) {
		return kind
	}
	return ""
}

// isKind matches the kinds of errors, which are words of this agent's or of droid's.
var isKind = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]+(_[a-z]+){0,5}$`) })
