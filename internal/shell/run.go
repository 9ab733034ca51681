// Package shell runs the user's own shell commands. It knows how a command is run
// and ended, how much of its output is kept and how it is told to the model, and
// nothing of sessions.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"droid-acp/internal/procgroup"
)

const (
	// grace is how long a cancelled command has to end by itself.
	grace = time.Second
	// drainTime is how long the output of a command that has ended is waited for. A
	// process that left the command's group may keep it open.
	drainTime = 3 * time.Second
)

// End is how a command ended.
type End struct {
	// ExitCode is what the command exited with, nil when it did not exit by itself.
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

// Succeeded reports whether the command exited with code 0.
func (e End) Succeeded() bool { return e.ExitCode != nil && *e.ExitCode == 0 }

// Run runs a command with sh (on Windows with cmd) in the directory dir, until it
// ends or ctx is done. When it returns, the command and what it left in its process
// group are gone, and out has all that they wrote. Run writes to out from another
// goroutine; a panic of out is passed on to the caller.
func Run(ctx context.Context, dir, command string, out io.Writer) End {
	read, write, err := os.Pipe()
	if err != nil {
		return notStarted(ctx, err)
	}
	defer read.Close()
	running, stop := context.WithCancel(ctx)
	defer stop()
	var group procgroup.Group
	cmd := process(running, command)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, write, write
	cmd.Cancel, cmd.WaitDelay = group.Terminate, grace
	err = group.Start(cmd)
	_ = write.Close() // the command has its own
	if err != nil {
		return notStarted(ctx, err)
	}
	copying := copyBeside(out, read, stop)
	err = cmd.Wait()
	group.Close()
	copying.wait()
	return endOf(ctx, cmd.ProcessState, err)
}

func notStarted(ctx context.Context, err error) End {
	if ctx.Err() != nil {
		return End{Note: "Cancelled."}
	}
	return End{Note: "The command was not started: " + err.Error() + "."}
}

// endOf says how a process ended. err is what waiting for it returned.
func endOf(ctx context.Context, state *os.ProcessState, err error) End {
	code := state.ExitCode()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && err != nil:
		return End{Note: "Cancelled."}
	case code >= 0:
		return End{ExitCode: &code}
	case errors.As(err, &exit):
		return End{Note: "Ended by " + exit.Error() + "."}
	}
	return End{Note: fmt.Sprintf("Ended: %v.", err)}
}

// copying is a goroutine that copies the output of a command.
type copying struct {
	from     io.Closer
	done     chan struct{} // closed at its end
	panicked any           // what it ended with; not written after done
}

// copyBeside copies until the last writer of from has closed it, or from is closed.
// When out panics it calls failed.
func copyBeside(out io.Writer, from io.ReadCloser, failed func()) *copying {
	c := &copying{from: from, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		defer func() {
			if c.panicked = recover(); c.panicked != nil {
				failed()
			}
		}()
		_, _ = io.Copy(out, from) // what could not be read is not shown
	}()
	return c
}

// wait waits for the end of the output, but not long, and passes a panic on.
func (c *copying) wait() {
	patience := time.NewTimer(drainTime)
	defer patience.Stop()
	select {
	case <-c.done:
	case <-patience.C:
		_ = c.from.Close()
		<-c.done
	}
	if c.panicked != nil {
		panic(c.panicked)
	}
}
