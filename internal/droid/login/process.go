package login

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/subprocess"
	"droid-acp/internal/text/visible"
)

// Process is a droid in its ACP mode.
type Process struct {
	Stdin     io.WriteCloser
	Stdout    io.Reader
	Links     <-chan string     // addresses that it opens in a browser; nil if they are not watched
	Terminate func()            // asks it to exit
	Kill      func()            // ends it and what it started, and its output
	Wait      func() *DiedError // returns when it has exited; called once, after the end of Stdout or Kill
}

// Start starts a droid in its ACP mode.
type Start func() (*Process, error)

// DiedError means that droid exited before it had answered.
type DiedError struct {
	State  string   // its exit status, such as "exit status 1"
	Stderr []string // its last 10 stderr lines, each cut at 1 kB and safe to show
}

// Error says how droid exited and what it wrote last.
func (e *DiedError) Error() string {
	text := "droid ended while it logged in (" + e.State + ")"
	if len(e.Stderr) > 0 {
		text += ": " + strings.Join(e.Stderr, "\n")
	}
	return text
}

// Command describes how to run droid.
type Command struct {
	Path string
	Env  []string // nil for the current one
}

// envAutoUpdate prevents droid from replacing its own program.
const envAutoUpdate = "FACTORY_DROID_AUTO_UPDATE_ENABLED"

// Start starts droid. It exits with this process, however that ends: at the end of its input (0.99.0 and 0.225.2), and on Unix a guard
// kills it.
func (c Command) Start(log *zap.Logger) (*Process, error) {
	hearing := watchLinks(subprocess.WithDefaultEnv(c.Env, envAutoUpdate, "false"), log)
	process, err := c.start(hearing)
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

// drainTime is how long the output of an exited droid is read. A process that it started may hold it open forever.
const drainTime = 500 * time.Millisecond

// start starts the process. A browser that it opens is not in its process group: on Unix droid starts that in a new session.
func (c Command) start(h linkWatcher) (*Process, error) {
	dir, err := files.MakeEmptyDir() // in a project's directory it would run the project's configuration
	if err != nil {
		return nil, err
	}
	p, err := subprocess.Start(subprocess.Command{Path: c.Path, Args: []string{"exec", "--output-format", "acp"}, Dir: dir.Path, Env: h.env, NoJob: true,
		RemoveOnDeath: append(h.removes, dir.Path)})
	if err != nil {
		return nil, errors.Join(err, dir.Remove())
	}
	draining := make(chan *time.Timer, 1) // ends the reading of its output
	go func() {
		<-p.AllExited()
		draining <- time.AfterFunc(drainTime, func() { _ = p.Stdout.Close() }) // it was only read
	}()
	return &Process{
		Stdin: p.Stdin, Stdout: p.Stdout,
		Terminate: func() { _ = p.Terminate() }, // it may have exited
		Kill:      func() { _ = p.Kill() },
		Wait: func() *DiedError {
			drained := <-draining
			exit := p.Exit(drainTime)
			drained.Stop()
			_ = p.Stdout.Close()
			_ = dir.Remove() // the next one that is created removes what is left
			return &DiedError{State: exit.Text, Stderr: safeLines(exit.Stderr)}
		},
	}, nil
}

// safeLines returns droid's last stderr lines, safe to show.
func safeLines(lines []string) (safe []string) {
	for _, line := range lines[max(0, len(lines)-10):] {
		if line = strings.TrimSpace(visible.Line(strings.ToValidUTF8(line[:min(len(line), 1<<10)], ""))); line != "" {
			safe = append(safe, line)
		}
	}
	return safe
}
