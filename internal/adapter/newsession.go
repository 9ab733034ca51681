package adapter

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid"
)

// newSessionResult is the result of session/new (ACP v1).
type newSessionResult struct {
	SessionID string        `json:"sessionId"`
	Modes     *sessionModes `json:"modes,omitempty"`
}

// newSession opens a session in a droid process of its own.
func (a *Agent) newSession(c call) (any, *acp.RequestError) {
	var params struct {
		CWD        string          `json:"cwd"`
		MCPServers json.RawMessage `json:"mcpServers"`
		Additional []string        `json:"additionalDirectories"`
	}
	if err := decode(c.params, &params); err != nil {
		return nil, err
	}
	if err := a.checkDirectory(params.CWD); err != nil {
		return nil, err
	}
	servers, err := mcpServers(params.MCPServers)
	if err != nil {
		return nil, err
	}
	c.ordered() // nobody can refer to the session before it has an id
	s, failure := a.open(c.ctx, params.CWD, servers)
	if failure != nil {
		return nil, startError(failure)
	}
	s.post(func() { s.declineDirectories(params.Additional) })
	// The editor takes updates of a session once it has the response, which is
	// written when the request's context ends.
	context.AfterFunc(c.ctx, func() { s.post(s.register) })
	result := make(chan newSessionResult, 1)
	if !s.post(func() { result <- newSessionResult{s.id, s.modes()} }) {
		return nil, internalError("shutting_down", "the agent is shutting down")
	}
	return <-result, nil
}

// declineDirectories tells that droid knows one directory only. The capability
// is not advertised; some clients send the list all the same.
func (s *Session) declineDirectories(list []string) {
	if len(list) > 0 {
		s.notices = append(s.notices, "droid works in one directory, "+s.cwd+". It can open files in "+strings.Join(list, ", ")+" by their path, but does not search there by itself.")
	}
}

// checkDirectory refuses what droid would take and fail on later (0.99 opens a
// session in a directory that does not exist).
func (a *Agent) checkDirectory(cwd string) *acp.RequestError {
	if cwd == "" {
		return invalidParams("cwd is missing; it must be an absolute path")
	}
	if !filepath.IsAbs(cwd) {
		return invalidParams("cwd must be an absolute path, not %q", cwd)
	}
	info, err := a.stat(cwd)
	if err != nil {
		return invalidParams("cwd cannot be used: %v", err)
	}
	if !info.IsDir() {
		return invalidParams("cwd %q is not a directory", cwd)
	}
	return nil
}

// open starts a session and its owner goroutine, and has droid initialize it.
func (a *Agent) open(ctx context.Context, cwd string, servers []droid.MCPServer) (*Session, error) {
	if !a.mayOpen() {
		return nil, context.Canceled
	}
	client, err := a.process(cwd)
	if err != nil {
		a.opening.Done()
		return nil, err
	}
	info, err := client.Initialize(ctx, droid.InitializeParams{CWD: cwd, MCPServers: servers})
	if err != nil {
		client.Kill()
		<-client.Exited()
		a.opening.Done()
		return nil, err
	}
	s := a.makeSession(cwd, servers)
	s.adopt(client)
	s.opened(info)
	a.mu.Lock()
	a.sessions[s.id] = s
	a.mu.Unlock()
	go func() {
		defer a.opening.Done()
		s.run()
	}()
	return s, nil
}

// mayOpen counts a session that is being opened, unless the agent ends.
func (a *Agent) mayOpen() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing {
		return false
	}
	a.opening.Add(1)
	return true
}

// process is the spare droid, or a new one.
func (a *Agent) process(cwd string) (*droid.Client, error) {
	if client := a.spare.take(); client != nil {
		return client, nil
	}
	return a.cfg.Start(cwd)
}

// register marks the session as known to the editor and tells it what changed
// since the response was made.
func (s *Session) register() {
	s.registered = true
	s.tellMode()
}
