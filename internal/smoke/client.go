// Package smoke is a headless ACP client for one prompt: it drives an agent over
// a pair of streams and shows the conversation, for CI and for a first try.
package smoke

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// client speaks ACP to an agent, strictly in the order in which lines arrive.
type client struct {
	in    *bufio.Reader
	out   io.Writer
	next  int
	show  viewer
	allow Policy
}

// message is any JSON-RPC line.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// permissionRequest is the params of session/request_permission as far as they
// are shown or decided on.
type permissionRequest struct {
	ToolCall json.RawMessage `json:"toolCall"`
	Options  []struct {
		OptionID string `json:"optionId"`
		Name     string `json:"name"`
		Kind     string `json:"kind"`
	} `json:"options"`
}

// call sends a request and handles what arrives until its response.
func (c *client) call(method string, params, result any) error {
	c.next++
	id := fmt.Sprint(c.next)
	if err := c.send(map[string]any{"jsonrpc": "2.0", "id": c.next, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		m, err := c.read()
		if err != nil {
			return fmt.Errorf("waiting for the answer to %s: %w", method, err)
		}
		switch {
		case m.Method == "" && string(m.ID) == id:
			if m.Error != nil {
				return m.Error
			}
			return json.Unmarshal(m.Result, result)
		case m.Method != "":
			if err := c.handle(m); err != nil {
				return err
			}
		}
	}
}

func (c *client) read() (message, error) {
	var m message
	line, err := c.in.ReadBytes('\n')
	if err != nil {
		if errors.Is(err, io.EOF) {
			return m, errors.New("the agent closed the connection")
		}
		return m, err
	}
	c.show.line(line)
	if err := json.Unmarshal(line, &m); err != nil {
		return m, fmt.Errorf("the agent wrote a line that is not JSON-RPC: %w", err)
	}
	return m, nil
}

func (c *client) send(m map[string]any) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	c.show.line(line)
	_, err = c.out.Write(line)
	return err
}

// handle shows an update and answers a permission request. All other requests
// are declined: this client declares no capabilities.
func (c *client) handle(m message) error {
	switch m.Method {
	case "session/update":
		c.show.update(m.Params)
	case "session/request_permission":
		var p permissionRequest
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return fmt.Errorf("permission request: %w", err)
		}
		option, name := c.allow.pick(p)
		c.show.permission(p, name)
		outcome := map[string]any{"outcome": "selected", "optionId": option}
		if option == "" {
			outcome = map[string]any{"outcome": "cancelled"}
		}
		return c.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{"outcome": outcome}})
	default:
		if m.ID != nil {
			return c.send(map[string]any{"jsonrpc": "2.0", "id": m.ID,
				"error": map[string]any{"code": -32601, "message": "Method not found: " + m.Method}})
		}
	}
	return nil
}

// Policy answers permission requests.
type Policy string

// Policies. Refuse is what a missing or unknown policy means.
const (
	Refuse Policy = "refuse" // picks the option that rejects
	Allow  Policy = "allow"  // picks the option that allows once
)

// pick returns the option to answer with and its name, or "" for none.
func (p Policy) pick(r permissionRequest) (id, name string) {
	prefer := []string{"reject_once", "reject_always"}
	if p == Allow {
		prefer = []string{"allow_once"}
	}
	for _, kind := range prefer {
		for _, o := range r.Options {
			if o.Kind == kind {
				return o.OptionID, o.Name
			}
		}
	}
	return "", "(no fitting option: cancelled)"
}

// Options say what to run.
type Options struct {
	Prompt string
	CWD    string // absolute
	Mode   string // session mode to set first, "" for droid's own
	Allow  Policy
	JSON   bool // show the raw protocol lines instead of the readable form
}

// Run has the agent behind in and out work on one prompt, shows the
// conversation on w, and returns the stop reason, or the error that ended it.
// It returns when ctx ends, provided that the agent then closes its output.
func Run(ctx context.Context, in io.Reader, out io.Writer, w io.Writer, o Options) (stopReason string, err error) {
	c := &client{in: bufio.NewReaderSize(in, 64<<10), out: out, show: viewer{w: w, raw: o.JSON}, allow: o.Allow}
	defer func() {
		c.show.end()
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}()
	var initialized struct {
		AgentInfo struct{ Name, Version string } `json:"agentInfo"`
	}
	if err := c.call("initialize", map[string]any{
		"protocolVersion":    1,
		"clientCapabilities": map[string]any{},
		"clientInfo":         map[string]any{"name": "droid-acp smoke", "version": "1"},
	}, &initialized); err != nil {
		return "", fmt.Errorf("initialize: %w", err)
	}
	var session struct {
		SessionID string `json:"sessionId"`
	}
	if err := c.call("session/new", map[string]any{"cwd": o.CWD, "mcpServers": []any{}}, &session); err != nil {
		return "", fmt.Errorf("session/new: %w", err)
	}
	if o.Mode != "" {
		if err := c.call("session/set_mode", map[string]any{"sessionId": session.SessionID, "modeId": o.Mode}, &struct{}{}); err != nil {
			return "", fmt.Errorf("session/set_mode: %w", err)
		}
	}
	c.show.prompt(o.Prompt)
	var done struct {
		StopReason string `json:"stopReason"`
	}
	if err := c.call("session/prompt", map[string]any{
		"sessionId": session.SessionID,
		"prompt":    []any{map[string]any{"type": "text", "text": o.Prompt}},
	}, &done); err != nil {
		return "", fmt.Errorf("session/prompt: %w", err)
	}
	return done.StopReason, nil
}
