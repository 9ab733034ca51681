package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"droid-acp/internal/cli/flags"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/remote/keep"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/remote/transport"
)

// handshakeTime is how long a server elsewhere may take until the connection to it is open.
const handshakeTime = 20 * time.Second

// connectCommand is the command that an editor starts instead of an agent, for one of a server elsewhere.
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
		own: []flags.Setting{
			{Name: "token-file", Kind: flags.File, Value: "FILE", Does: "the file with the token for the server, which only you can read"},
			{Name: "ca-file", Kind: flags.File, Value: "FILE", Unset: "the system's authorities", Does: "certificates in PEM that may certify the server, besides those of the system"},
		},
		run: runConnect,
	}
}

func needsURL(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("connect needs the address of a server, such as wss://HOST:PORT")
	}
	return nil
}

func runConnect(c *invocation) int {
	url, err := keep.ParseURL(c.args[0])
	if err != nil {
		return c.wrong(err)
	}
	path := c.values.String("token-file")
	if path == "" {
		return c.wrong(errors.New("connect needs --token-file, the file with the token for the server"))
	}
	token, err := keep.ReadToken(path)
	if err != nil {
		return c.wrong(err)
	}
	var roots *x509.CertPool
	if path := c.values.String("ca-file"); path != "" {
		if roots, err = keep.ReadAuthorities(path); err != nil {
			return c.wrong(err)
		}
	}
	return c.logged(func(log *zap.Logger) int { return c.connect(log, url, token, roots) })
}

// connect passes messages on between the editor and the server at a URL.
func (c *invocation) connect(log *zap.Logger, url, token string, roots *x509.CertPool) int {
	limitMemory()
	dial := func(ctx context.Context) (keep.MessageConn, error) {
		ctx, cancel := context.WithTimeout(ctx, handshakeTime)
		defer cancel()
		conn, err := transport.DialFar(ctx, url, token, roots)
		if err != nil {
			return nil, err // a nil *transport.Conn would not be a nil interface
		}
		return conn, nil
	}
	front := &keep.StdioBridge{
		URL: url, In: c.stdin, Out: c.stdout, Interactive: onTerminal(c.stdin), Log: log, Command: diagnosis.Command,
		Connect: func(ctx context.Context) (keep.MessageConn, error) {
			link := &relay.Reconnector{Connect: dial, Final: keep.IsFinal, Notify: func(text string) { fmt.Fprintf(c.stderr, "droid-acp connect: %s\n", text) }}
			return link, link.Dial(ctx)
		},
	}
	if err := front.Run(c.leaving.ctx); err != nil {
		fmt.Fprintf(c.stderr, "droid-acp connect: %v\n", err)
		return exitFailed
	}
	return exitOK
}
