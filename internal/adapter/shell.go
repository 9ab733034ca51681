package adapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/protocol"
	"droid-acp/internal/show"
)

// A prompt "!command" or "/shell command" is the user's own action, where
// Config.Shell allows it: nobody is asked, and the model does not see it before
// the next prompt.

const (
	// shellKept is how much of a command's output is shown, in bytes. Of what
	// follows the end is shown, too.
	shellKept = 1 << 20
	// shellTail is the length of that end, in bytes.
	shellTail = 8 << 10
	// shellTold is how much of the output droid is told, in bytes.
	shellTold = 16 << 10
	// shellGrace is how long a cancelled command has to end by itself.
	shellGrace = time.Second
	// shellDrain is how long a command that has ended may leave its output open to
	// processes that are not of its group.
	shellDrain = 3 * time.Second
)

// bangCommand returns the command of a prompt "!command", "" for all others.
func (s *Session) bangCommand(text string) string {
	command, ok := strings.CutPrefix(strings.TrimSpace(text), "!")
	if !ok || !s.agent.cfg.Shell {
		return ""
	}
	return strings.TrimSpace(command)
}

// shellRun is one shell command of the user.
type shellRun struct {
	command string
	output  shellOutput
	shown   *show.UserCommand // the owner's
}

// shellCommand runs a command beside the owner, as a tool call.
func (s *Session) shellCommand(t *turn, command string) {
	if command == "" {
		s.reply(t, "Say the command, too: `/shell git status`.")
		return
	}
	run := &shellRun{command: command}
	run.output.ready = func() { s.post(func() { s.put(run.shown.Wrote(s.moment(), run.output.take())) }) }
	ctx, stop := context.WithCancel(s.ctx)
	t.starting, t.stop = false, stop
	shown, begun := s.show.UserCommand(s.moment(), command)
	run.shown = shown
	s.put(begun)
	cwd := s.cwd
	s.do(func(context.Context) {
		defer stop()
		end := runShell(ctx, cwd, command, &run.output)
		s.post(func() { s.shellEnded(t, run, end) })
	})
}

// shellEnd is how a command ended.
type shellEnd struct {
	exitCode *int   // nil when it did not exit by itself
	note     string // why, then
}

// runShell runs a command to its end, or until ctx is done. When it returns, the
// command and what it left in its process group are gone, and out has all that
// they wrote.
func runShell(ctx context.Context, cwd, command string, out io.Writer) shellEnd {
	notStarted := func(err error) shellEnd {
		if ctx.Err() != nil {
			return shellEnd{note: "Cancelled."}
		}
		return shellEnd{note: "The command was not started: " + err.Error() + "."}
	}
	read, write, err := os.Pipe()
	if err != nil {
		return notStarted(err)
	}
	defer read.Close()
	running, stop := context.WithCancel(ctx)
	defer stop()
	cmd := shellProcess(running, command)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = cwd, write, write, shellGrace
	var group processGroup
	cmd.Cancel = group.terminate
	err = group.start(cmd)
	_ = write.Close() // the command has its own
	if err != nil {
		return notStarted(err)
	}
	copied := make(chan struct{})
	var panicked any
	go func() {
		defer close(copied)
		defer func() {
			if panicked = recover(); panicked != nil {
				stop()
			}
		}()
		_, _ = io.Copy(out, read) // ends with the last writer, or with read.Close
	}()
	err = cmd.Wait()
	group.kill()
	drain(read, copied)
	if panicked != nil {
		panic(panicked) // in the goroutine that is guarded
	}
	code := cmd.ProcessState.ExitCode()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && err != nil:
		return shellEnd{note: "Cancelled."}
	case code >= 0:
		return shellEnd{exitCode: &code}
	case errors.As(err, &exit):
		return shellEnd{note: "Ended by " + exit.Error() + "."}
	}
	return shellEnd{note: fmt.Sprintf("Ended: %v.", err)}
}

// drain waits for the rest of the output. A process that left the group may hold
// the pipe open; it is not waited for long.
func drain(read io.Closer, copied <-chan struct{}) {
	patience := time.NewTimer(shellDrain)
	defer patience.Stop()
	select {
	case <-copied:
	case <-patience.C:
		_ = read.Close()
		<-copied
	}
}

// shellEnded ends the tool call and the prompt.
func (s *Session) shellEnded(t *turn, run *shellRun, end shellEnd) {
	s.put(run.shown.Wrote(s.moment(), run.output.rest()))
	how, shown := run.shown.Ended(end.exitCode, end.note)
	s.put(shown)
	s.shellNotes = append(s.shellNotes, shellNote(run.command, run.shown.Written(), how))
	switch {
	case s.turn != t: // it has ended already
	case t.cancelled:
		s.finish(t, ending{stop: acp.StopReasonCancelled})
	default:
		s.finish(t, ending{stop: acp.StopReasonEndTurn})
	}
}

// shellNote is what droid is told of a command.
func shellNote(command, output, note string) string {
	text := "I ran this command myself, in the session's directory:\n" + show.Fenced("sh", command) + "\n" + strings.TrimSuffix(note, ".") + ". "
	if strings.TrimSpace(output) == "" {
		return text + "It wrote nothing.\n\n"
	}
	if over := len(output) - shellTold; over > 0 {
		head, tail := output[:shellTold/2], output[len(output)-shellTold/2:]
		output = strings.ToValidUTF8(head, "") + leftOutMark(over) + strings.ToValidUTF8(tail, "")
	}
	return text + "Its output:\n" + show.Fenced("console", output) + "\n\n"
}

func leftOutMark(n int) string { return fmt.Sprintf("\n[… %d bytes left out …]\n", n) }

// addShellNotes puts what the user ran before a prompt. A command that droid
// expands must begin the message: the notes wait for the prompt after it.
func (s *Session) addShellNotes(t *turn) {
	if len(s.shellNotes) == 0 {
		return
	}
	name, _, _ := splitCommand(t.message.Text)
	if slices.ContainsFunc(s.custom, func(c protocol.AvailableCommand) bool { return c.Name == name }) {
		return
	}
	t.notes, s.shellNotes = s.shellNotes, nil
	t.message.Text = strings.Join(t.notes, "") + t.message.Text
}

// keepShellNotes keeps the notes of a prompt that droid did not take for the
// next one.
func (s *Session) keepShellNotes(t *turn) {
	if t != nil {
		s.shellNotes = append(t.notes, s.shellNotes...)
		t.notes = nil
	}
}

// shellOutput collects what a command writes, within bounds. The command's
// reader writes, the session's owner takes.
type shellOutput struct {
	ready func() // called when there is something to take, once until it is taken

	mu    sync.Mutex
	told  bool
	fresh []byte // to be shown
	kept  int    // bytes that were fresh
	tail  []byte // the end of what follows
	over  int    // bytes that followed
}

func (o *shellOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	n := min(len(p), shellKept-o.kept)
	o.fresh = append(o.fresh, p[:n]...)
	o.kept += n
	o.over += len(p) - n
	o.tail = append(o.tail, p[n:]...)
	if cut := len(o.tail) - shellTail; cut > 0 {
		o.tail = append(o.tail[:0], o.tail[cut:]...)
	}
	tell := n > 0 && !o.told
	o.told = o.told || tell
	o.mu.Unlock()
	if tell {
		o.ready()
	}
	return len(p), nil
}

// take returns what is new, but for the beginning of a character.
func (o *shellOutput) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = false
	end := len(o.fresh)
	for i := max(0, end-utf8.UTFMax); i < len(o.fresh); i++ {
		if utf8.RuneStart(o.fresh[i]) && !utf8.FullRune(o.fresh[i:]) {
			end = i
			break
		}
	}
	piece := strings.ToValidUTF8(string(o.fresh[:end]), "\uFFFD")
	o.fresh = append(o.fresh[:0], o.fresh[end:]...)
	return piece
}

// rest returns all that was not taken, with the end of what was left out.
func (o *shellOutput) rest() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	piece := string(o.fresh)
	o.fresh = nil
	if o.over > len(o.tail) {
		piece += leftOutMark(o.over - len(o.tail))
	}
	return strings.ToValidUTF8(piece+string(o.tail), "\uFFFD")
}
