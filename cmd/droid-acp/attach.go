package main

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"droid-acp/internal/cli/flags"
	"droid-acp/internal/cli/smoke"
	"droid-acp/internal/remote/keep"
	"droid-acp/internal/remote/serve"
)

// attachCommand is the command that shows a session that runs, and takes part in it.
func attachCommand() subcommand {
	return subcommand{
		Command: &cobra.Command{
			Use: "attach [flags] SESSION", Args: cobra.ExactArgs(1), Short: "Join a session that a server keeps, in a terminal",
			Long: "It shows what was said and what comes. In a terminal a line is a prompt, and a number answers the question that waits longest. " +
				"Ctrl-C leaves, and the session goes on. SESSION is an id or its beginning, as ps shows it.\n\n" +
				"Exit codes: 0 you left, 1 there is no such session, or the server has gone, 2 wrong usage.",
		},
		own: []flags.Setting{
			{Name: "watch-only", Kind: flags.Switch, Does: "neither answer nor prompt; so it is where stdin is no terminal"}, socketSetting(),
		},
		run: runAttach,
	}
}

func runAttach(c *call) int {
	path, err := c.socket()
	if err != nil {
		return c.wrong(err)
	}
	status, err := clientOf(path).Status(c.leaving.ctx)
	if err != nil {
		return c.failed(err)
	}
	session, err := keep.Find(status, c.args[0], commandFor(path))
	if err != nil {
		return c.failed(err)
	}
	if err := c.attach(path, session); err != nil {
		return c.failed(err)
	}
	return c.printed(c.print("You left. The session goes on.\n"))
}

// attach joins a session until the user leaves.
func (c *call) attach(path string, session serve.SessionInfo) error {
	hello, err := hello(nil)
	if err != nil {
		return err
	}
	hello.Joins = true
	options := smoke.AttachOptions{Session: session.ID, CWD: session.Directory, Colour: colours(c.stdout)}
	if onTerminal(c.stdin) && !c.values.Bool("watch-only") {
		options.Typed = c.stdin
	}
	hello.WatchOnly = options.Typed == nil
	gone := between(func(in io.Reader, out io.Writer) error {
		front := &keep.Front{
			Hello: hello, In: in, Out: out, Log: zap.NewNop(), Command: commandFor(path),
			Connect: func(ctx context.Context) (keep.Messages, error) { return attachTo(ctx, path, nil) },
		}
		return front.Run(c.leaving.ctx)
	}, func(in io.Reader, out io.Writer) {
		err = smoke.Attach(c.leaving.ctx, in, out, c.stdout, options)
	})
	return cmp.Or(gone, err) // the first says more
}

// between runs an agent and its client, which speak to each other by pipes. It returns the agent's error when both
// have ended.
func between(agent func(in io.Reader, out io.Writer) error, client func(in io.Reader, out io.Writer)) error {
	agentIn, clientOut := io.Pipe()
	clientIn, agentOut := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := agent(agentIn, agentOut)
		_ = agentOut.Close()                         // a pipe always closes
		_ = agentIn.CloseWithError(io.ErrClosedPipe) // what the client still says has no reader
		ended <- err
	}()
	client(clientIn, clientOut)
	_ = clientOut.Close()
	_ = clientIn.CloseWithError(io.ErrClosedPipe) // what the agent still says has no reader
	return <-ended
}
