// Package shell runs the user's own shell commands. It knows how a command is run and ended, how much of its output is kept and how the
// model gets it, and nothing of sessions.
package shell

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"droid-acp/internal/sys/subprocess"
)

// grace is how long a cancelled command has to end by itself.
const grace = time.Second

// End is how a command ended.
type End struct {
	// ExitCode is the exit code, nil if the command did not exit by itself.
	ExitCode *int
	// Note is a sentence that says why there is no exit code, "" when there is one.
	Note string
}

// String says in a few words how the command ended.
func (e End) String() string {
	if e.ExitCode != nil {
		return fmt.Sprintf("Exit code %d", *e.ExitCode)
	}
	return e.Note
}

// Run runs a command with sh (on Windows with cmd) in the directory dir, until it
// ends or ctx is done. When it returns, the command and what it left in its process
// group are gone, and out has all that they wrote. Run writes to out from another
// goroutine; a panic of out is passed on to the caller.
func Run(ctx context.Context, dir, command string, out io.Writer) End {
	c := subprocess.Command{Path: "sh", Args: []string{"-c", command}, Dir: dir, MergeStderr: true}
	if runtime.GOOS == "windows" { // as it was typed: /S takes off the outer quotes and nothing else
		c.Path, c.CmdLine = "cmd", `cmd /S /C "`+command+`"`
	}
	exit, err := subprocess.Run(ctx, c, out, grace)
	switch {
	case ctx.Err() != nil && (err != nil || exit.Code != 0):
		return End{Note: "Cancelled."}
	case err != nil:
		return End{Note: "The command was not started: " + err.Error() + "."}
	case exit.Code >= 0:
		return End{ExitCode: &exit.Code}
	}
	return End{Note: "Ended by " + exit.Text + "."}
}
