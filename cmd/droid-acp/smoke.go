package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"droid-acp/internal/adapter"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/smoke"
)

const defaultPrompt = "Say hello, and tell in one sentence which directory you work in."

// smokeFlags are the flags of the smoke command.
type smokeFlags struct {
	commonFlags
	demo        bool
	permissions string
	cwd         string
	timeout     time.Duration
	json        bool
}

// runSmoke runs one prompt against the agent in this process.
func runSmoke(leaving *leaving, args []string, stdout, stderr io.Writer) int {
	var f smokeFlags
	flags := f.flagSet("droid-acp smoke")
	flags.BoolVar(&f.demo, "demo", false, "")
	flags.StringVar(&f.permissions, "permissions", string(smoke.Refuse), "")
	flags.StringVar(&f.cwd, "cwd", ".", "")
	flags.DurationVar(&f.timeout, "timeout", 5*time.Minute, "")
	flags.BoolVar(&f.json, "json", false, "")
	if code, done := parse(flags, &f.commonFlags, args, stdout, stderr); done {
		return code
	}
	options, err := f.options(flags.Args())
	if err != nil {
		return usageError(stderr, err)
	}
	log, closeLog, err := f.logger(stderr)
	if err != nil {
		return usageError(stderr, err)
	}
	defer closeLog()

	ctx, cancel := context.WithTimeoutCause(leaving.ctx, f.timeout, fmt.Errorf("no end of the turn within %v", f.timeout))
	defer cancel()
	locate := f.locate
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
		Defaults: f.defaults(), Shell: f.shell,
		Dir: options.CWD, Version: version(), Log: log,
	})
	leaving.onHurry(agent.Kill)
	stop, err := converse(ctx, agent, stdout, options)
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "droid-acp smoke: "+err.Error())
		return exitFailed
	case stop != "end_turn":
		fmt.Fprintln(stderr, "droid-acp smoke: the turn ended with "+stop)
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

func (f *smokeFlags) options(args []string) (smoke.Options, error) {
	o := smoke.Options{Prompt: strings.Join(args, " "), Mode: f.mode, Allow: smoke.Policy(f.permissions), JSON: f.json}
	if o.Prompt == "" {
		o.Prompt = defaultPrompt
	}
	if f.demo && o.Mode == "" {
		o.Mode = string(stream.ModeSpec) // so that the demo shows a plan to approve
	}
	if o.Allow != smoke.Allow && o.Allow != smoke.Refuse {
		return o, fmt.Errorf("invalid value %q for flag -permissions: refuse or allow", f.permissions)
	}
	if f.demo && f.droid != "" {
		return o, errors.New("--demo and --droid exclude each other")
	}
	if f.timeout <= 0 {
		return o, errors.New("--timeout must be longer than zero")
	}
	cwd, err := filepath.Abs(f.cwd)
	if err != nil {
		return o, err
	}
	o.CWD = cwd
	return o, nil
}

// locate is the command of droid: the real one, or this program as the scripted
// one.
func (f *smokeFlags) locate() (droid.Command, error) {
	if !f.demo {
		path, err := droid.Find(f.droid)
		return droid.Command{Path: path}, err
	}
	self, err := os.Executable()
	return droid.Command{Path: self, Args: []string{demoCommand}}, err
}
