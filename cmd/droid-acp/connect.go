package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"droid-acp/internal/cli/flags"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/remote/keep"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/remote/transport"
)

// connectCommand returns the command that an editor starts instead of an agent, for one of a server elsewhere.
func connectCommand() subcommand {
	return subcommand{
		Command: &cobra.Command{
			Use: "connect [flags] wss://HOST:PORT", Args: needsURL,
			Short: "Serve an agent of a droid-acp serve on another machine, over the network",
			Long: "It connects to a server that was started with serve --listen, and passes ACP's messages on between it and the editor. " +
				"The server runs the agent, with its own flags; what runs there goes on when the connection ends, and session/load joins it again. " +
				"A link that is cut or silent is connected again, for up to two minutes. " +
				"Paths are those of the server's machine. ws:// is for this machine's own addresses alone.\n\n" +
				"Exit codes: 0 the editor has gone, 1 the server was not reached or the connection has ended, 2 wrong usage.",
		},
		reads: []string{flags.LogFile, flags.LogLevel},
		own:   farSettings(),
		run:   runConnect,
	}
}

// farSettings returns the flags of a command that reaches a server elsewhere.
func farSettings() []flags.Setting {
	return []flags.Setting{
		{Name: "token-file", Kind: flags.File, Value: "FILE", Does: "the file with the token for the server, which only you can read"},
		{Name: "ca-file", Kind: flags.File, Value: "FILE", Unset: "the system's authorities", Does: "certificates in PEM that may certify the server, besides those of the system"},
	}
}

func needsURL(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("connect needs the address of a server, such as wss://HOST:PORT")
	}
	return nil
}

func runConnect(c *invocation) int {
	far, err := c.far(c.args[0])
	if err != nil {
		return c.wrong(err)
	}
	return c.logged(func(log *zap.Logger) int { return c.connect(log, far) })
}

// far returns the server elsewhere that has an address, with the token and the certificates of the flags.
func (c *invocation) far(address string) (far keep.Far, err error) {
	if far.URL, err = keep.ParseURL(address); err != nil {
		return far, err
	}
	path := c.values.String("token-file")
	if path == "" {
		return far, errors.New(c.cmd.Name() + " needs --token-file, the file with the token for the server")
	}
	if far.Token, err = keep.ReadToken(path); err != nil {
		return far, err
	}
	if path := c.values.String("ca-file"); path != "" {
		far.Roots, err = keep.ReadAuthorities(path)
	}
	return far, err
}

// dialer returns a function that connects to a server elsewhere.
func dialer(far keep.Far) func(context.Context) (keep.MessageConn, error) {
	return func(ctx context.Context) (keep.MessageConn, error) {
		ctx, cancel := context.WithTimeout(ctx, keep.FarTime)
		defer cancel()
		conn, err := transport.DialFar(ctx, far.URL, far.Token, far.Roots)
		if err != nil {
			return nil, err // a nil *transport.Conn would not be a nil interface
		}
		return conn, nil
	}
}

// connect passes messages on between the editor and a server elsewhere.
func (c *invocation) connect(log *zap.Logger, far keep.Far) int {
	limitMemory()
	front := &keep.StdioBridge{
		URL: far.URL, In: c.stdin, Out: c.stdout, Interactive: onTerminal(c.stdin), Log: log, Command: diagnosis.Command,
		Connect: func(ctx context.Context) (keep.MessageConn, error) {
			link := &relay.Reconnector{Connect: dialer(far), Final: keep.IsFinal, Notify: func(text string) { fmt.Fprintf(c.stderr, "droid-acp connect: %s\n", text) }}
			return link, link.Dial(ctx)
		},
	}
	if err := front.Run(c.leaving.ctx); err != nil {
		fmt.Fprintf(c.stderr, "droid-acp connect: %v\n", err)
		return exitFailed
	}
	return exitOK
}
