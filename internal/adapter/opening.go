package adapter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/layer"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/problem"
	"droid-acp/internal/trust"
)

// openTime bounds how long droid may take to open a session. 0.3 to 2.6 s were
// seen; what takes longer than this hangs.
const openTime = time.Minute

// hangTime is after how long a process is taken for one that hangs, and another one
// opens the session in the time that is left: 0.99 was seen, rarely, to answer nothing
// for 30 s right after its start (quirk 34).
const hangTime = 20 * time.Second

// errHung is why another process was started.
var errHung = errors.New("droid did not answer within 20 s")

// errOpenTime is why droid was given up while it opened a session.
var errOpenTime = errors.New("droid did not answer within a minute")

// outOfTime returns err, or the cause of ctx's end if err says that time ran out.
func outOfTime(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return err
}

// opener has a process open a session. servers are the MCP servers to pass with the
// session: those that the process was not given before.
type opener func(ctx context.Context, client *droid.Client, servers []stream.MCPServer) (*stream.SessionInfo, error)

func openNew(p droid.InitializeParams) opener {
	return func(ctx context.Context, client *droid.Client, servers []stream.MCPServer) (*stream.SessionInfo, error) {
		p := p
		p.MCPServers = servers
		return client.Initialize(ctx, p)
	}
}

func openStored(p droid.LoadParams) opener {
	return func(ctx context.Context, client *droid.Client, servers []stream.MCPServer) (*stream.SessionInfo, error) {
		p := p
		p.MCPServers = servers
		return client.Load(ctx, p)
	}
}

// launch starts droid in cwd, or takes the spare if that was, and opens a session in it. It blocks. added
// is what the process adds to droid's system prompt, which the spare does not.
// What a project brings to run that nobody has trusted is left out.
// On an error the process is gone. If droid does not start because it is to take
// MCP servers, it is started once more and gets them with the session. One that hangs
// is started once more, too.
func (a *Agent) launch(ctx context.Context, cwd string, servers []stream.MCPServer, added string, open opener) (*droid.Client, *stream.SessionInfo, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, openTime, errOpenTime)
	defer cancel()
	command, err := a.commandIn(ctx, cwd)
	if err != nil {
		return nil, nil, err
	}
	command.Runtime, command.SystemPrompt = len(servers) > 0 || a.editorFiles.on(), added
	set := func(ctx context.Context, client *droid.Client) ([]stream.MCPServer, error) {
		return a.setRuntime(ctx, client, droid.Runtime{MCPServers: servers, CWD: cwd, Without: command.Without})
	}
	client := a.takeSpare(command)
	if client == nil {
		if client, err = a.start(command); err != nil {
			return nil, nil, err
		}
	}
	info, err := a.openIn(ctx, hangTime, client, set, open)
	if errors.Is(err, errHung) {
		a.log.Warn("droid hangs; another one opens the session")
		if client, err = a.start(command); err != nil {
			return nil, nil, err
		}
		info, err = a.openIn(ctx, openTime, client, set, open)
	}
	if command.Without == nil && client.TakesRuntime() && cannotTake(err) {
		a.log.Warn("droid does not start when it is to take MCP servers; they are passed with the session", zap.Error(err))
		command.Runtime = false
		if client, err = a.start(command); err != nil {
			return nil, nil, err
		}
		info, err = a.openIn(ctx, openTime, client, set, open)
	}
	if err != nil {
		return nil, nil, err
	}
	return client, info, nil
}

// start starts droid. The error says why there is none.
func (a *Agent) start(command droid.Command) (*droid.Client, error) {
	client, err := a.cfg.Start(command)
	var cannot *droid.LeftOutError
	switch {
	case errors.As(err, &cannot) && command.Without != nil:
		return nil, problem.Internal("project_not_trusted", trust.Project{Layer: *command.Without}.Refusal(cannot.Why))
	case err != nil:
		return nil, problem.NotStarted(err)
	}
	return client, nil
}

// takeSpare is the spare if it fits the command, else nil.
func (a *Agent) takeSpare(command droid.Command) *droid.Client {
	if command.SystemPrompt != "" {
		return nil
	}
	client := a.spare.Take(command.Dir)
	if client != nil && !layer.Same(client.StartedWithout(), command.Without) {
		client.Kill() // the project has changed since, or was trusted
		<-client.Exited()
		return nil
	}
	return client
}

// launchAlone starts a droid in cwd that runs nothing of anybody's, and has it open a
// session. It is for a droid that only copies or names one. It blocks.
func (a *Agent) launchAlone(ctx context.Context, cwd string, open opener) (*droid.Client, *stream.SessionInfo, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, openTime, errOpenTime)
	defer cancel()
	client, err := a.cfg.Start(droid.Command{Dir: cwd, Without: new(layer.Layer), WithoutWatcher: true})
	var cannot *droid.LeftOutError
	if errors.As(err, &cannot) {
		return a.launch(ctx, cwd, nil, "", open)
	}
	if err != nil {
		return nil, nil, problem.NotStarted(err)
	}
	info, err := a.openIn(ctx, openTime, client, func(context.Context, *droid.Client) ([]stream.MCPServer, error) { return nil, nil }, open)
	if err != nil {
		return nil, nil, err
	}
	return client, info, nil
}

// errServers is why a process that takes MCP servers did not get them.
var errServers = errors.New("droid did not get its MCP servers")

// cannotTake reports whether a process failed because it was to take MCP servers:
// it did not get them, or it ended before it said a word.
func cannotTake(err error) bool {
	var exit *droid.ExitError
	return errors.Is(err, errServers) || errors.As(err, &exit) && !exit.Started
}

// openIn opens a session in a process, which has so long for it. set gives the process
// its settings first, and returns the MCP servers that are to be passed with the session.
// On an error the process is gone.
func (a *Agent) openIn(ctx context.Context, patience time.Duration, client *droid.Client, set func(context.Context, *droid.Client) ([]stream.MCPServer, error), open opener) (*stream.SessionInfo, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errHung)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)() // a request's context does not end with the agent
	opened := false
	defer func() {
		if !opened {
			client.Kill() // also where this panics
		}
	}()
	others, err := set(ctx, client)
	if err == nil {
		var info *stream.SessionInfo
		if info, err = open(ctx, client, others); err == nil {
			opened = true
			return info, nil
		}
	}
	client.Kill()
	<-client.Exited()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errHung):
		err = errHung
	case errors.Is(cause, errOpenTime):
		err = errOpenTime
		if exit := client.ExitError(); exit != nil && len(exit.Stderr) > 0 {
			err = fmt.Errorf("%w; the last it wrote to stderr: %s", errOpenTime, strings.Join(exit.Stderr, "\n"))
		}
	}
	return nil, err
}
