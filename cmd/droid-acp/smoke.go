package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"droid-acp/internal/adapter"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/settings"
	"droid-acp/internal/smoke"
)

const defaultPrompt = "Say hello, and tell in one sentence which directory you work in."

// smokeCommand is the command that runs one prompt without an editor.
func smokeCommand() subcommand {
	return subcommand{settings.Command{
		Name: "smoke", Args: "[PROMPT]", MaxArgs: -1, Strict: true,
		Reads:   []string{settings.Droid, settings.Model, settings.Mode, settings.Effort, settings.Shell, settings.LogFile, settings.LogLevel},
		Summary: "run one prompt without an editor and show the conversation",
		Own: []settings.Setting{
			{Name: "demo", Kind: settings.Switch, Does: "talk to a scripted droid that is built in; needs no droid and no login"},
			{Name: "permissions", Kind: settings.Choice, Value: "ANSWER", Allowed: []string{string(smoke.Refuse), string(smoke.Allow)}, Default: string(smoke.Refuse),
				Does: "how permission requests are answered"},
			{Name: "cwd", Kind: settings.Dir, Value: "DIR", Unset: "the current directory", Does: "the session's directory"},
			{Name: "timeout", Kind: settings.Duration, Value: "TIME", Default: "5m", Least: 1, Form: "a time longer than zero, such as 90s or 5m", Does: "give up after this time"},
			{Name: "json", Kind: settings.Switch, Does: "print the protocol lines instead of the readable conversation"},
		},
		Exclude: [][2]string{{"demo", settings.Droid}, {"demo", settings.Model}, {"demo", settings.Effort}},
		Exits: []settings.Exit{
			{Code: exitOK, Means: "the turn ended normally (end_turn)"}, {Code: exitFailed, Means: "it did not"}, {Code: exitUsage, Means: "wrong usage"},
		},
	}, runSmoke}
}

// runSmoke runs one prompt against the agent in this process.
func runSmoke(c *call) int {
	options, err := smokeOptions(c)
	if err != nil {
		return usageError(c.stderr, err)
	}
	log, closeLog, err := c.logger(c.stderr)
	if err != nil {
		return usageError(c.stderr, err)
	}
	defer closeLog()

	timeout := c.values.Duration("timeout")
	ctx, cancel := context.WithTimeoutCause(c.leaving.ctx, timeout, fmt.Errorf("no end of the turn within %v", timeout))
	defer cancel()
	locate := func() (droid.Command, error) { return locateDroid(c.values.Bool("demo"), c.droid) }
	agent := adapter.New(adapter.Config{
		Locate: func() (string, error) { command, err := locate(); return command.Path, err },
		Start: func(command droid.Command) (*droid.Client, error) {
			found, err := locate()
			if err != nil {
				return nil, err
			}
			command.Path, command.Args, command.Env = found.Path, found.Args, found.Env
			return droid.Start(command, log)
		},
		Defaults: c.defaults(), Shell: c.shell,
		Dir: options.CWD, Version: version(), Log: log,
	})
	c.leaving.onHurry(agent.Kill)
	stop, err := converse(ctx, agent, c.stdout, options)
	switch {
	case err != nil:
		fmt.Fprintln(c.stderr, "droid-acp smoke: "+err.Error())
		return exitFailed
	case stop != "end_turn":
		fmt.Fprintln(c.stderr, "droid-acp smoke: the turn ended with "+stop)
		return exitFailed
	}
	return exitOK
}

// converse runs the agent and the client on two pipes until the prompt has
// ended, and returns when the agent and its droid have, too.
func converse(ctx context.Context, agent *adapter.Agent, stdout io.Writer, o smoke.Options) (string, error) {
	agentIn, clientOut := io.Pipe()
	clientIn, agentOut := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := agent.Serve(ctx, agentIn, agentOut)
		_ = agentOut.Close() // a pipe always closes
		served <- err
	}()
	stop, err := smoke.Run(ctx, clientIn, clientOut, stdout, o)
	_ = clientOut.Close()
	_ = clientIn.CloseWithError(io.ErrClosedPipe) // what the agent still says has no reader
	<-served
	return stop, err
}

func smokeOptions(c *call) (smoke.Options, error) {
	v := c.values
	o := smoke.Options{Prompt: strings.Join(c.args, " "), Mode: c.mode, Allow: smoke.Policy(v.String("permissions")), JSON: v.Bool("json")}
	if o.Prompt == "" {
		o.Prompt = defaultPrompt
	}
	if v.Bool("demo") && o.Mode == "" {
		o.Mode = string(stream.ModeSpec) // so that the demo shows a plan to approve
	}
	cwd, err := filepath.Abs(v.String("cwd"))
	if err != nil {
		return o, err
	}
	o.CWD = cwd
	return o, nil
}

// locateDroid is the command of droid: the real one, or this program as the scripted one.
func locateDroid(demo bool, named string) (droid.Command, error) {
	if !demo {
		path, err := droid.Find(named)
		return droid.Command{Path: path}, err
	}
	self, err := os.Executable()
	return droid.Command{Path: self, Args: []string{demoCommand}}, err
}
