// Command droid-acp is an ACP agent that makes Factory's droid CLI available in editors: it serves the Agent Client Protocol on stdin and
// stdout, and runs droid as a child process.
//
// stdout belongs to the protocol. Logs, usage errors and everything else for people go to stderr; only --help, --version and the commands
// that do not serve write to stdout.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"droid-acp/internal/adapter"
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/cli/demo"
	"droid-acp/internal/cli/flags"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/hooks"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc/flight"
	"droid-acp/internal/remote/keep"
	"droid-acp/internal/text/visible"
)

// demoCommand makes this program the scripted droid of "smoke --demo".
const demoCommand = "demo-droid"

// demoAtOnce, as a further argument, makes that droid not pause between words.
const demoAtOnce = "at-once"

// Exit codes.
const (
	exitOK = iota
	exitFailed
	exitUsage
)

func main() {
	// droid starts this once or twice per tool call and waits for it, so nothing unnecessary is initialized.
	if len(os.Args) > 1 && os.Args[1] == stream.OwnHook {
		signal.Ignore(syscall.SIGPIPE) // so that it succeeds even if droid has exited
		hooks.Run(os.Args[2:], os.Stdin, os.Stdout)
		return
	}
	// A write to an editor that is gone must return an error, not kill this process, which would leave droid running. The signal is caught
	// rather than ignored: child processes would inherit that, and then write into broken pipes forever.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ensureHome()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	said := &syncWriter{to: visible.NewWriter(stderr)} // it repeats texts of others
	defer said.flush()
	stderr = said
	if len(args) > 0 && args[0] == demoCommand {
		pace := demo.Pace
		if len(args) > 1 && args[1] == demoAtOnce {
			pace = 0
		}
		if demo.Play(stdin, stdout, pace) != nil {
			return exitFailed // the agent has ended
		}
		return exitOK
	}
	leaving, stop := watchSignals()
	defer stop()
	return leaving.orForce(func() int {
		return execute(invocation{leaving: leaving, stdin: stdin, stdout: stdout, stderr: stderr, mute: said.mute}, args)
	})
}

// serveCommand returns the command that an editor starts, under this name.
func serveCommand(name string) subcommand {
	return subcommand{Command: &cobra.Command{
		Use: name, Args: cobra.NoArgs, Short: "Serve ACP on stdin and stdout (what an editor starts)",
		Long: "droid-acp puts Factory's droid into editors that speak the Agent Client Protocol (ACP). It is an independent, unofficial bridge.\n\n" +
			"A flag wins over its environment variable, and that over the default.\n\n" +
			"Exit codes: 0 the editor has gone, 1 it could not go on, 2 wrong usage.",
	}, reads: flags.CommonNames(), own: []flags.Setting{
		loginSetting(), {Name: versionName, Kind: flags.Switch, Does: "print the version"},
	}, serves: true, run: runServe}
}

// searchWith searches the sessions of droid's home by a droid.
func searchWith(ctx context.Context, path, query string) ([]droid.Found, error) {
	return droid.Search(ctx, path, nil, query)
}

// releaseOf asks a droid for its version, with the environment that it is started with.
func releaseOf(ctx context.Context, path string) (string, error) {
	return droid.Release(ctx, path, nil)
}

func runServe(c *invocation) int {
	if c.values.Bool(flags.Keep) {
		return c.logged(c.runBridge)
	}
	return c.logged(func(log *zap.Logger) int {
		return c.traced(log, func(t tracing) int { return c.serve(log, t) })
	})
}

// serve runs the agent.
func (c *invocation) serve(log *zap.Logger, traced tracing) int {
	if onTerminal(c.stdin) {
		printUsageHint(c.stderr)
	}
	limit := limitMemory()
	go diagnosis.Program() // errors contain it, and looking it up in the PATH may be slow
	dir, err := os.Getwd()
	if err != nil {
		dir = os.TempDir() // for the prewarmed process only; sessions name their own
	}
	recorder := flight.New(recordedBytes)
	config := adapter.Config{
		Login:        c.startLogin(log),
		LoginCommand: c.clientsLogin(),
		ClientShows:  c.values.String(flags.ClientShows),
		Journal:      stateFile("edits"),
		Log:          log,
	}
	config.Start = func(command droid.Command) (*droid.Client, error) {
		path, err := c.findDroid()
		if err != nil {
			return nil, err
		}
		command.Path, command.Flight = path, recorder
		traced.droid(&command)
		client, err := droid.Start(command, log)
		if err == nil {
			limit.raise(client.Exited())
		}
		return client, err
	}
	config.Locate, config.Release, config.Search, config.Version = c.findDroid, releaseOf, searchWith, version()
	config.Store = sessionStore(os.Getenv, log)
	config.Defaults = c.defaults()
	config.Trust = trustStore(c.values.String(flags.Trust))
	config.Dir = dir
	config.Spare = launch.Spare(cmp.Or(c.values.String(flags.Spare), string(launch.SpareAuto)))
	config.ParkAfter = c.values.Duration(flags.ParkAfter)
	config.Files = session.FilesWay(c.values.String(flags.Files))
	config.Reports, config.Flight, config.RecentLog = stateFile("reports"), recorder, c.recentLog.lines
	config.Shell = c.values.Bool(flags.Shell)
	agent := adapter.New(config)
	c.leaving.onForce(agent.Kill)
	in, out := traced.editor(c.stdin, c.stdout)
	if err := agent.Serve(c.leaving.ctx, in, out); err != nil && !errors.Is(err, context.Canceled) {
		return exitFailed
	}
	return exitOK
}

// recordedBytes bounds the messages that are kept for a report.
const recordedBytes = 1 << 20

// findDroid finds the droid program. The error says what to do, also if droid would not find its home: it would exit without saying why
// (0.99 to 0.225).
func (c *invocation) findDroid() (string, error) {
	if _, err := os.UserHomeDir(); err != nil {
		return "", diagnosis.NoHome(err)
	}
	return droid.Find(c.values.String(flags.Droid))
}

// defaults returns the initial settings of new sessions.
func (c *invocation) defaults() options.Defaults {
	v := c.values
	return options.Defaults{Mode: stream.Mode(v.String(flags.Mode)), Model: v.String(flags.Model), Effort: v.String(flags.Effort), FollowUp: v.String(flags.FollowUp)}
}

// usageError reports wrong usage, and where to find the command's help.
func usageError(stderr io.Writer, err error, cmd *cobra.Command) int {
	words := append(strings.Fields(cmd.CommandPath())[1:], "--help")
	fmt.Fprintf(stderr, "droid-acp: %v\nRun %s for the usage.\n", err, diagnosis.Command(words...))
	return exitUsage
}

// wrong reports wrong usage of the running command, see usageError.
func (c *invocation) wrong(err error) int { return usageError(c.stderr, err, c.cmd) }

// failed reports why a command failed.
func (c *invocation) failed(err error) int {
	if errors.Is(err, keep.ErrNotRunning) {
		err = errors.New("no server runs, so no session is kept")
	}
	fmt.Fprintf(c.stderr, "droid-acp %s: %v\n", c.cmd.Name(), err)
	return exitFailed
}
