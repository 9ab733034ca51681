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

// ExitError says how the droid process ended. Every call that is outstanding
// then, or comes later, returns it (errors.As).
type ExitError struct {
	Path      string   // of the program, "" where it is not known
	Code      int      // exit code, −1 when a signal ended it or it is not known
	Signal    string   // name of that signal, "" otherwise
	Stderr    []string // its last lines there, see child.Tail
	Started   bool     // droid had said at least one line on stdout
	Requested bool     // Close or Kill asked for it
	KilledFor string   // the reason given to KillFor, or the client's own for killing it; "" for none
	Err       error    // what else is known, such as a failed write
}

// Error names the cause and what droid wrote to stderr, without droid's source.
func (e *ExitError) Error() string {
	said := slices.DeleteFunc(slices.Clone(e.Stderr), sourceLine().MatchString)
	if len(said) == 0 {
		return e.cause()
	}
	return e.cause() + ": " + strings.Join(said, "\n")
}

// sourceLine matches what Bun, which droid is, prints around the error that ends it (0.215, 0.225): lines of the source
// with their numbers, a mark below one, fields of the error and the stack.
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

// LogText is the text of an error without what droid wrote: that may be part of a
// prompt or of an answer, which no log holds.
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
