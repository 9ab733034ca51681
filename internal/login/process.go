package login

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Process is a droid in its ACP mode.
type Process struct {
	Stdin     io.WriteCloser
	Stdout    io.Reader
	Links     <-chan string     // what it opens in a browser; nil where that is not heard
	Terminate func()            // asks it to end
	Kill      func()            // ends it and what it started, its output too
	Wait      func() *DiedError // returns when it is gone; called once, after Stdout has ended or Kill
}

// Start starts a droid in its ACP mode.
type Start func() (*Process, error)

// DiedError says that droid ended before it had answered.
type DiedError struct {
	State   string   // how, as in "exit status 1"
	Stderr  []string // its last 10 lines there, each cut at 1 kB and safe to show
	Started bool     // it had written something to its stdout
}

// Error tells how droid ended and what it wrote last.
func (e *DiedError) Error() string {
	text := "droid ended while it logged in (" + e.State + ")"
	if len(e.Stderr) > 0 {
		text += ": " + strings.Join(e.Stderr, "\n")
	}
	return text
}

// Command says how to run droid.
type Command struct {
	Path string
	Args []string // put before "exec"
	Dir  string   // "" for ours
	Env  []string // nil for ours
}

// envAutoUpdate keeps droid from replacing its own program.
const envAutoUpdate = "FACTORY_DROID_AUTO_UPDATE_ENABLED"

// Start starts droid. It ends with our process, however that ends: its input does, at
// which it ends (0.99.0 and 0.225.2), and on Unix a guard kills it.
func (c Command) Start(log *zap.Logger) (*Process, error) {
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	env = env[:len(env):len(env)]
	if !hasVariable(env, envAutoUpdate) {
		env = append(env, envAutoUpdate+"=false")
	}
	hearing := hearLinks(env, log)
	process, err := c.start(hearing.env)
	if err != nil {
		hearing.close()
		return nil, fmt.Errorf("starting droid %s: %w", c.Path, err)
	}
	wait := process.Wait
	process.Links, process.Wait = hearing.links, func() *DiedError {
		defer hearing.close()
		return wait()
	}
	return process, nil
}

func hasVariable(env []string, name string) bool {
	for _, v := range env {
		if strings.HasPrefix(v, name+"=") {
			return true
		}
	}
	return false
}

// drainTime is how long the output of a droid that is gone is read. What it started may
// hold it open for ever.
const drainTime = 500 * time.Millisecond

// start starts the process with this environment.
func (c Command) start(env []string) (*Process, error) {
	cmd := exec.Command(c.Path, append(append([]string(nil), c.Args...), "exec", "--output-format", "acp")...)
	cmd.Dir, cmd.Env = c.Dir, env
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := newOutput()
	if err != nil {
		_ = stdin.Close()
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = out.theirs[0], out.theirs[1]
	var group family
	err = group.start(cmd)
	out.started()
	if err != nil {
		_ = stdin.Close()
		out.close()
		return nil, err
	}
	var stderr tail
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&stderr, out.ours[1]) })
	stdout := &noticing{in: out.ours[0]}
	gone := make(chan struct{})
	go func() { // Wait waits for it
		defer close(gone)
		_ = cmd.Wait() // how it ended is in ProcessState
		group.close()
		out.closeAfter(drainTime)
	}()
	return &Process{
		Stdin: stdin, Stdout: stdout, Terminate: group.terminate, Kill: group.kill,
		Wait: func() *DiedError {
			<-gone
			reading.Wait()
			out.close()
			return &DiedError{State: cmd.ProcessState.String(), Stderr: stderr.last(), Started: stdout.some.Load()}
		},
	}, nil
}
