package droid

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"droid-acp/internal/droid/stream"
)

// ExitError describes how the droid process ended. Every outstanding and later call returns it (errors.As).
type ExitError struct {
	Path      string   // of the program, "" if unknown
	Code      int      // exit code, −1 if a signal ended it or the code is unknown
	Signal    string   // name of that signal, "" otherwise
	Stderr    []string // the last lines of its stderr, see subprocess.Tail
	Started   bool     // droid had said at least one line on stdout
	Requested bool     // Close or Kill asked for it
	KilledFor string   // the reason passed to KillFor, or the client's own reason for killing it; "" if none
	Err       error    // a further cause, such as a failed write
}

// Error returns the cause and droid's stderr, without lines of droid's source.
func (e *ExitError) Error() string {
	said := slices.DeleteFunc(slices.Clone(e.Stderr), sourceLine().MatchString)
	if len(said) == 0 {
		return e.cause()
	}
	return e.cause() + ": " + strings.Join(said, "\n")
}

// sourceLine matches what Bun, droid's runtime, prints around a fatal error (0.215, 0.225): numbered source lines, a mark below one of
// them, fields of the error and the stack.
var sourceLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ *(\d+ \|.*|\^|(path|dest|syscall|errno|code): .*|at .*:\d+:\d+\)?)$`)
})

func (e *ExitError) cause() string {
	var b strings.Builder
	switch {
	case e.KilledFor != "":
		b.WriteString("droid was killed by droid-acp, because " + e.KilledFor)
		if !e.Started {
			b.WriteByte(',')
		}
	case e.Signal == "SIGKILL" && e.Requested:
		b.WriteString("droid was killed by droid-acp")
	case e.Signal == "SIGKILL":
		b.WriteString("droid was ended by signal \"SIGKILL\", by another program or because memory ran out")
	case e.Signal != "":
		fmt.Fprintf(&b, "droid was ended by signal %q", e.Signal)
	case e.Code >= 0:
		fmt.Fprintf(&b, "droid exited with code %d", e.Code)
	default:
		b.WriteString("droid is gone")
	}
	if !e.Started {
		b.WriteString(" before it said anything")
	}
	if e.Err != nil {
		fmt.Fprintf(&b, " (%v)", e.Err)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

// LogText returns the text of an error without droid's output: that may contain parts of a prompt or an answer, which must not be logged.
func LogText(err error) string {
	text := err.Error()
	if exit, is := errors.AsType[*ExitError](err); is && len(exit.Stderr) > 0 {
		text = strings.ReplaceAll(text, exit.Error(), fmt.Sprintf("%s, after %d lines on stderr", exit.cause(), len(exit.Stderr)))
	}
	if refused, is := errors.AsType[*stream.RPCError](err); is {
		text = strings.ReplaceAll(text, refused.Error(), fmt.Sprintf("droid refused with code %d", refused.Code))
	}
	if syntax, is := errors.AsType[*json.SyntaxError](err); is {
		text = strings.ReplaceAll(text, syntax.Error(), fmt.Sprintf("no JSON at byte %d", syntax.Offset))
	}
	if mismatch, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		kind, _, _ := strings.Cut(mismatch.Value, " ")
		text = strings.ReplaceAll(text, mismatch.Error(), fmt.Sprintf("a %s in the field %q", kind, mismatch.Field))
	}
	return text
}
