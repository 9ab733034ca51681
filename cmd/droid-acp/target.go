package main

import (
	"context"
	"slices"
	"strings"

	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/remote/keep"
	"droid-acp/internal/remote/relay"
)

// target is the server that a command is about: one at a socket, or one elsewhere.
type target struct {
	socket    string
	far       *keep.Far // nil for that at the socket
	tokenFile string    // of far
}

// target returns the server that the first argument names, which it removes, or else that at the socket.
func (c *invocation) target() (t target, err error) {
	if len(c.args) == 0 || !strings.HasPrefix(c.args[0], "ws://") && !strings.HasPrefix(c.args[0], "wss://") {
		t.socket, err = c.socket()
		return t, err
	}
	far, err := c.far(c.args[0])
	c.args = c.args[1:]
	return target{far: &far, tokenFile: c.values.String("token-file")}, err
}

// client returns a client for the server's commands.
func (t target) client() *keep.Client {
	if t.far != nil {
		return keep.NewFarClient(*t.far, t.command())
	}
	return clientFor(t.socket)
}

// command returns a formatter of commands for the server.
func (t target) command() relay.Command {
	if t.far == nil {
		return commandFor(t.socket)
	}
	return func(words ...string) string {
		return diagnosis.Command(slices.Concat(words[:1], []string{"--token-file", t.tokenFile, t.far.URL}, words[1:])...)
	}
}

// connect opens a WebSocket to the server; starter starts one, nil to not start any.
func (t target) connect(ctx context.Context, starter *keep.Starter) (keep.MessageConn, error) {
	if t.far != nil {
		return dialer(*t.far)(ctx)
	}
	return attachTo(ctx, t.socket, starter)
}

// url returns the URL of a server elsewhere, "" for one of this machine.
func (t target) url() string {
	if t.far == nil {
		return ""
	}
	return t.far.URL
}
