package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/term"

	"droid-acp/internal/cli/flags"
	"droid-acp/internal/cli/smoke"
	"droid-acp/internal/remote/keep"
	"droid-acp/internal/remote/serve"
)

// attachCommand returns the command that shows a running session, and takes part in it.
func attachCommand() subcommand {
	return subcommand{
		Command: &cobra.Command{
			Use: "attach [flags] [wss://HOST:PORT] [SESSION]", Args: cobra.MaximumNArgs(2), Short: "Join a session that a server keeps, in a terminal",
			Long: "It shows what was said and what comes. In a terminal Enter sends a prompt, Alt-Enter or Ctrl-J begins a new line in it, and a number answers the question that is shown as being asked; " +
				"one that is pasted, or was typed before the question was shown, does not. " +
				"Ctrl-C cancels the turn, and twice leaves; Ctrl-D leaves. The session goes on. SESSION is an id or its beginning, as ps shows it; without it the one whose state changed last.\n\n" +
				"Exit codes: 0 you left, 1 there is no such session, or the server has gone, 2 wrong usage.",
		},
		own: append(farSettings(), []flags.Setting{
			{Name: "new", Kind: flags.Dir, Value: "DIR", Does: "begin a session in this directory; a server is started where none runs"},
			{Name: "watch-only", Kind: flags.Switch, Does: "neither answer nor prompt, and Ctrl-C leaves; so it is where stdin or stdout is no terminal, or TERM is dumb"}, socketSetting(),
		}...),
		run: runAttach,
	}
}

func runAttach(c *invocation) int {
	at, err := c.target()
	if err != nil {
		return c.wrong(err)
	}
	if len(c.args) > 1 {
		return c.wrong(errors.New("attach joins one session"))
	}
	options := smoke.AttachOptions{Colour: colours(c.stdout)}
	if dir := c.values.String("new"); dir != "" {
		if at.far != nil {
			return c.wrong(errors.New("--new begins a session on this machine, so no address goes with it"))
		}
		if len(c.args) > 0 || c.values.Bool("watch-only") {
			return c.wrong(errors.New("--new begins a session, so neither SESSION nor --watch-only goes with it"))
		}
		if options.CWD, err = directory(dir); err != nil {
			return c.failed(err)
		}
	} else {
		session, err := c.runningSession(at)
		if err != nil {
			return c.failed(err)
		}
		options.Session, options.CWD = session.ID, session.Directory
	}
	if err := c.attach(at, options); err != nil {
		return c.failed(err)
	}
	return c.printed(c.print("You left. The session goes on.\n"))
}

// attach joins a session, or begins one, until the user leaves.
func (c *invocation) attach(at target, options smoke.AttachOptions) error {
	hello, err := attachParams(nil)
	if err != nil {
		return err
	}
	var server *keep.Starter
	if hello.Joins = options.Session != ""; hello.Joins {
	} else if usual, _ := defaultSocket(); at.socket == usual { // the user starts any other server
		if server, err = starter(); err != nil {
			return err
		}
	}
	terminal, restore, err := c.terminal()
	if err != nil {
		return err
	}
	defer restore()
	c.leaving.onForce(restore)
	options.Terminal = terminal
	hello.WatchOnly = terminal == nil
	return c.clientOf(at, hello, server, func(in io.Reader, out io.Writer) error {
		return smoke.Attach(c.leaving.ctx, in, out, c.stdout, options)
	})
}

// clientOf runs a client of a server; server starts one, nil to not start any.
func (c *invocation) clientOf(at target, hello serve.AttachParams, server *keep.Starter, client func(in io.Reader, out io.Writer) error) error {
	var err error
	gone := connectPipes(func(in io.Reader, out io.Writer) error {
		front := &keep.StdioBridge{
			Attach: hello, URL: at.url(), In: in, Out: out, Log: zap.NewNop(), Command: at.command(),
			Connect: func(ctx context.Context) (keep.MessageConn, error) { return at.connect(ctx, server) },
		}
		return front.Run(c.leaving.ctx)
	}, func(in io.Reader, out io.Writer) { err = client(in, out) })
	return cmp.Or(gone, err) // the first one is more informative
}

// runningSession returns the session of a server that the arguments name.
func (c *invocation) runningSession(at target) (session serve.SessionInfo, err error) {
	status, err := at.client().Status(c.leaving.ctx)
	if err != nil {
		return session, err
	}
	if len(c.args) > 0 {
		return keep.Find(status, c.args[0], at.command())
	}
	return keep.Newest(status, at.command())
}

// terminal reads the keys of the user's terminal one by one, until restore is called. It returns nil for a user who only watches.
func (c *invocation) terminal() (t *smoke.Terminal, restore func(), err error) {
	if c.values.Bool("watch-only") || !onTerminal(c.stdin) || !onTerminal(c.stdout) || os.Getenv("TERM") == "dumb" {
		if c.values.String("new") != "" {
			return nil, nil, errors.New("--new needs a terminal in which a line can be edited: stdin or stdout is none, or TERM is dumb")
		}
		return nil, func() {}, nil
	}
	var before *term.State
	raw := withFd(c.stdin, func(fd uintptr) bool {
		before, err = term.MakeRaw(int(fd))
		return err == nil
	})
	if !raw {
		return nil, nil, fmt.Errorf("the terminal's keys cannot be read one by one, which --watch-only does not need: %w", err)
	}
	return &smoke.Terminal{Keys: c.stdin, Size: func() (w, h int) {
			withFd(c.stdout, func(fd uintptr) bool {
				w, h, _ = term.GetSize(int(fd)) // 0 if unknown
				return true
			})
			return w, h
		}}, sync.OnceFunc(func() {
			withFd(c.stdin, func(fd uintptr) bool { return term.Restore(int(fd), before) == nil })
		}), nil
}

// connectPipes runs an agent and its client, connected by pipes. It returns the agent's error when both have ended.
func connectPipes(agent func(in io.Reader, out io.Writer) error, client func(in io.Reader, out io.Writer)) error {
	agentIn, clientOut := io.Pipe()
	clientIn, agentOut := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := agent(agentIn, agentOut)
		_ = agentOut.Close()                         // closing a pipe never fails
		_ = agentIn.CloseWithError(io.ErrClosedPipe) // the client's further messages have no reader
		ended <- err
	}()
	client(clientIn, clientOut)
	_ = clientOut.Close()
	_ = clientIn.CloseWithError(io.ErrClosedPipe) // the agent's further messages have no reader
	return <-ended
}
