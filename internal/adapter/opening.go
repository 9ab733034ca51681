package adapter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
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
// On an error the process is gone. If droid does not start because it is to take
// MCP servers, it is started once more and gets them with the session. One that hangs
// is started once more, too.
func (a *Agent) launch(ctx context.Context, cwd string, servers []stream.MCPServer, added string, open opener) (*droid.Client, *stream.SessionInfo, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, openTime, errOpenTime)
	defer cancel()
	var client *droid.Client
	if added == "" {
		client = a.spare.Take(cwd)
	}
	command := droid.Command{Dir: cwd, Runtime: len(servers) > 0 || a.editorFiles.on(), SystemPrompt: added}
	if client == nil {
		var err error
		if client, err = a.cfg.Start(command); err != nil {
			return nil, nil, &notStartedError{err}
		}
	}
	info, err := a.openIn(ctx, hangTime, client, servers, cwd, open)
	if errors.Is(err, errHung) {
		a.log.Warn("droid hangs; another one opens the session")
		if client, err = a.cfg.Start(command); err != nil {
			return nil, nil, &notStartedError{err}
		}
		info, err = a.openIn(ctx, openTime, client, servers, cwd, open)
	}
	if client.TakesRuntime() && cannotTake(err) {
		a.log.Warn("droid does not start when it is to take MCP servers; they are passed with the session", zap.Error(err))
		command.Runtime = false
		if client, err = a.cfg.Start(command); err != nil {
			return nil, nil, &notStartedError{err}
		}
		info, err = a.openIn(ctx, openTime, client, servers, cwd, open)
	}
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

// openIn opens a session in a process, which has so long for it. On an error the process
// is gone.
func (a *Agent) openIn(ctx context.Context, patience time.Duration, client *droid.Client, servers []stream.MCPServer, cwd string, open opener) (*stream.SessionInfo, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errHung)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)() // a request's context does not end with the agent
	opened := false
	defer func() {
		if !opened {
			client.Kill() // also where this panics
		}
	}()
	others, err := a.setRuntime(ctx, client, servers, cwd)
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
