// Command gosdk is an ACP client on the Go SDK for the tests: one command a line on
// stdin, one event a line on stdout, as lines.mjs describes them.
//
//	gosdk AGENT [ARGUMENT…]
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"

	"github.com/coder/acp-go-sdk"
)

// event is one line on stdout.
type event struct {
	Event  string `json:"event"`
	ID     string `json:"id,omitempty"`
	Text   string `json:"text,omitempty"`
	Title  string `json:"title,omitempty"`
	Status string `json:"status,omitempty"`
}

// command is one line on stdin.
type command struct{ Do, ID, Text, Permit string }

// client embeds the interface: it declares no files and no terminal, so the agent
// calls none of their methods.
type client struct {
	acp.Client
	connection *acp.ClientSideConnection
	session    acp.SessionId
	cwd        string

	mu     sync.Mutex
	permit string
	out    *json.Encoder
}

func (c *client) emit(e event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.out.Encode(e) // a test that is gone reads nothing
}

func (c *client) RequestPermission(_ context.Context, p acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	c.emit(event{Event: "asked", ID: string(p.ToolCall.ToolCallId), Title: value(p.ToolCall.Title)})
	c.mu.Lock()
	permit := c.permit
	c.mu.Unlock()
	for _, option := range p.Options {
		if string(option.Kind) == permit {
			return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(option.OptionId)}, nil
		}
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
}

func (c *client) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	switch u := n.Update; {
	case u.UserMessageChunk != nil:
		c.emit(event{Event: "user", Text: text(u.UserMessageChunk.Content)})
	case u.AgentMessageChunk != nil:
		c.emit(event{Event: "agent", Text: text(u.AgentMessageChunk.Content)})
	case u.AgentThoughtChunk != nil:
		c.emit(event{Event: "thought", Text: text(u.AgentThoughtChunk.Content)})
	case u.ToolCall != nil:
		c.emit(event{Event: "tool", ID: string(u.ToolCall.ToolCallId), Title: u.ToolCall.Title, Status: string(u.ToolCall.Status)})
	case u.ToolCallUpdate != nil:
		c.emit(event{Event: "tool", ID: string(u.ToolCallUpdate.ToolCallId), Title: value(u.ToolCallUpdate.Title), Status: string(value(u.ToolCallUpdate.Status))})
	}
	return nil
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func text(block acp.ContentBlock) string {
	if block.Text == nil {
		return ""
	}
	return block.Text.Text
}

func (c *client) open(ctx context.Context, do command) (err error) {
	if c.session = acp.SessionId(do.ID); do.Do == "load" {
		_, err = c.connection.LoadSession(ctx, acp.LoadSessionRequest{SessionId: c.session, Cwd: c.cwd, McpServers: []acp.McpServer{}})
	} else {
		var opened acp.NewSessionResponse
		opened, err = c.connection.NewSession(ctx, acp.NewSessionRequest{Cwd: c.cwd, McpServers: []acp.McpServer{}})
		c.session = opened.SessionId
	}
	if err == nil {
		c.emit(event{Event: "open", ID: string(c.session)})
	}
	return err
}

func (c *client) prompt(ctx context.Context, do command) error {
	c.emit(event{Event: "user", Text: do.Text})
	end, err := c.connection.Prompt(ctx, acp.PromptRequest{SessionId: c.session, Prompt: []acp.ContentBlock{acp.TextBlock(do.Text)}})
	if err == nil {
		c.emit(event{Event: "stop", Text: string(end.StopReason)})
	}
	return err
}

// serve carries out the commands of stdin. A prompt does not hold up what follows it.
func (c *client) serve(ctx context.Context) {
	var turns sync.WaitGroup
	defer turns.Wait()
	try := func(err error) {
		if err != nil {
			c.emit(event{Event: "error", Text: err.Error()})
		}
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var do command
		if err := json.Unmarshal(in.Bytes(), &do); err != nil {
			try(err)
			continue
		}
		switch do.Do {
		case "cancel":
			try(c.connection.Cancel(ctx, acp.CancelNotification{SessionId: c.session}))
		case "prompt":
			c.mu.Lock()
			c.permit = do.Permit
			c.mu.Unlock()
			turns.Go(func() { try(c.prompt(ctx, do)) })
		default:
			try(c.open(ctx, do))
		}
	}
}

func run(ctx context.Context, agent string, args ...string) error {
	cmd := exec.CommandContext(ctx, agent, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c := &client{cwd: cwd, out: json.NewEncoder(os.Stdout)}
	c.connection = acp.NewClientSideConnection(c, in, out)
	c.connection.SetLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if _, err := c.connection.Initialize(ctx, acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber}); err != nil {
		return err
	}
	c.serve(ctx)
	return errors.Join(in.Close(), cmd.Wait())
}

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2:]...); err != nil {
		fmt.Fprintln(os.Stderr, "gosdk:", err)
		os.Exit(1)
	}
}
