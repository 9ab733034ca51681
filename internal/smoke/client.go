// Package smoke is a headless ACP client for one prompt: it drives an agent over
// a pair of streams and shows the conversation, for CI and for a first try.
package smoke

import (
	"bufio"
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
	turn  *PromptResult // what runs, nil between prompts
}

// message is any JSON-RPC line.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpcError       `json:"error,omitempty"`
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
				m.Error.method = method
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
		u, err := readUpdate(m.Params)
		if err != nil {
			c.show.entry("?", string(m.Params))
			break
		}
		c.turn.heard(u)
		c.show.update(u)
	case "session/request_permission":
		var p permissionRequest
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return fmt.Errorf("permission request: %w", err)
		}
		call := p.call()
		option := c.allow.pick(p)
		c.turn.asked(call, option)
		c.show.permission(call, p.Options, option)
		outcome := map[string]any{"outcome": "selected", "optionId": option.OptionID}
		if option.OptionID == "" {
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
