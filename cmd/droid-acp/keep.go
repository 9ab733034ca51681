package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.uber.org/zap"

	"droid-acp/internal/cli/flags"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/remote/keep"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/remote/serve"
	"droid-acp/internal/remote/transport"
)

// socketSetting returns the path at which the user's server listens.
func socketSetting() flags.Setting {
	return flags.Setting{
		Name: "socket", Kind: flags.File, Value: "PATH", Unset: "$XDG_RUNTIME_DIR/droid-acp/serve.sock, else ~/.local/state/droid-acp/run/serve.sock",
		Does: "the server's Unix socket, in a directory that is yours alone",
	}
}

// socket returns the path of the server's socket.
func (c *invocation) socket() (string, error) {
	if path, given := c.values["socket"]; given && path.String() != "" {
		return filepath.Abs(path.String())
	}
	return defaultSocket()
}

func defaultSocket() (string, error) {
	return keep.SocketPath(os.Getenv("XDG_RUNTIME_DIR"), stateFile(""))
}

// commandFor returns a formatter of commands for the server at a socket.
func commandFor(socket string) relay.Command {
	if usual, err := defaultSocket(); err == nil && socket == usual {
		return diagnosis.Command
	}
	return func(words ...string) string { return diagnosis.Command(append(words, "--socket", socket)...) }
}

// runBridge passes an editor's messages on to the server, which keeps sessions running when the editor goes.
func (c *invocation) runBridge(log *zap.Logger) int {
	if onTerminal(c.stdin) {
		printUsageHint(c.stderr)
	}
	limitMemory()
	words := newLogWriter(c.stderr, func(n int) []byte {
		return fmt.Appendf(nil, "droid-acp: %d pieces of what the agent wrote to stderr were lost here, because nobody read them in time\n", n)
	})
	defer words.close()
	front := &keep.StdioBridge{
		In: c.stdin, Out: c.stdout, Interactive: onTerminal(c.stdin), Stderr: words, Log: log, Command: diagnosis.Command,
		Connect: func(ctx context.Context) (keep.MessageConn, error) { return connect(ctx, log) },
	}
	var err error
	if front.Attach, err = attachParams(c.values.Flags(agentNames())); err == nil {
		front.Attach.Stderr = true
		err = front.Run(c.leaving.ctx)
	}
	if err != nil {
		fmt.Fprintf(c.stderr, "droid-acp: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// agentNames returns the settings of an agent.
func agentNames() []string {
	return slices.DeleteFunc(flags.CommonNames(), func(name string) bool { return name == flags.Keep })
}

// attachParams returns how to run the agent of this process's client.
func attachParams(args []string) (serve.AttachParams, error) {
	self, err := os.Executable()
	if err != nil {
		return serve.AttachParams{}, err
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = os.TempDir() // as the agent itself does
	}
	return serve.AttachParams{Program: self, Args: args, Env: keptEnvironment(), Directory: dir}, nil
}

// keptEnvironment returns our environment without the variable that would make an agent keep itself.
func keptEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, flags.EnvKeep+"=") })
}

// connect connects to the server by WebSocket. If none runs, it starts one.
func connect(ctx context.Context, log *zap.Logger) (keep.MessageConn, error) {
	path, err := defaultSocket()
	if err != nil {
		return nil, err
	}
	server, err := starter()
	if err != nil {
		return nil, err
	}
	messages, err := attachTo(ctx, path, server)
	hung := new(*keep.HungError)
	if err != nil && !errors.As(err, new(*keep.StartError)) && !errors.As(err, hung) && ctx.Err() == nil {
		log.Info("connecting to the server again", zap.Error(err)) // it may have been ending
		messages, err = attachTo(ctx, path, server)
	}
	if errors.As(err, hung) {
		err = fmt.Errorf("%w, or start the agent without --keep, for one of its own", err)
	}
	return messages, err
}

// starter returns a Starter of the server at the default socket.
func starter() (*keep.Starter, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &keep.Starter{Program: self, Args: []string{serverName}, Env: keptEnvironment(), Log: stateFile("serve.log"), Command: diagnosis.Command}, nil
}

// clientFor returns a client of the server at a socket.
func clientFor(socket string) *keep.Client { return keep.NewClient(socket, commandFor(socket)) }

// attachTo opens a WebSocket to the server at a path; server starts one, nil to not start any.
func attachTo(ctx context.Context, path string, server *keep.Starter) (messages keep.MessageConn, err error) {
	way := func(ctx context.Context) (net.Conn, error) { return keep.Connect(ctx, path, server) }
	err = clientFor(path).CallTimeout(ctx, keep.AnswerTime, way, func(ctx context.Context, dial keep.Dial) error {
		conn, err := transport.Dial(ctx, dial, "ws://localhost"+transport.Path, "")
		if err == nil { // a nil *transport.Conn would not be a nil interface
			messages = conn
		}
		return err
	})
	return messages, err
}
