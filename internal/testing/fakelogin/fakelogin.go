// Package fakelogin imitates the droid that logs in: droid in its own ACP mode, as observed with 0.99.0 and 0.225.2, and beyond that as a
// Script determines. Everything except opening a browser and refusing is invented: no droid was observed to succeed, to send requests or
// notifications. Tests of package login and of the adapter use it.
package fakelogin

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"

	"droid-acp/internal/droid/login"
)

// Address is where the scripts here make the user log in.
const Address = "https://login.example.invalid/device?user_code=ABCD-EFGH"

// Script answers one authenticate. The droid continues to run after it, until its input ends or the script has called Conversation.Die.
type Script func(c *Conversation)

// Conversation has the actions of a script.
type Conversation struct {
	Method       string          // the login method requested by the client
	Capabilities json.RawMessage // the client's capabilities

	id      json.RawMessage
	open    func(address string)
	mu      sync.Mutex // guards out, next and waiting
	out     io.Writer
	next    int
	waiting map[string]chan message
	ended   chan struct{} // closed when the input has ended
	died    chan int
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// Line writes a line unchanged.
func (c *Conversation) Line(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.out, line+"\n") // if the client is gone, the input ends, too
}

// Open opens an address in a browser, as droid does.
func (c *Conversation) Open(address string) { c.open(address) }

// Tell sends a notification. params is JSON.
func (c *Conversation) Tell(method, params string) {
	c.Line(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// Ask sends a request and returns the result or the error in the answer. Both are empty if the input ends before.
func (c *Conversation) Ask(method, params string) (result, failure json.RawMessage) {
	c.mu.Lock()
	c.next++
	id := strconv.Itoa(c.next)
	answered := make(chan message, 1)
	c.waiting[id] = answered
	c.mu.Unlock()
	c.Line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	select {
	case m := <-answered:
		return m.Result, m.Error
	case <-c.ended:
		return nil, nil
	}
}

// Succeed answers that droid has logged in. Its form is a guess.
func (c *Conversation) Succeed() {
	c.Line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, c.id))
}

// Refuse answers as droid does when a pairing was refused (observed).
func (c *Conversation) Refuse() {
	c.Fail(-32603, "Internal error: Device authentication failed", "Authorization failed or expired")
}

// Fail answers with an error.
func (c *Conversation) Fail(code int, text, data string) {
	c.Line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":%q}}`, c.id, code, text, data))
}

// AwaitEnd waits for the end of the input.
func (c *Conversation) AwaitEnd() { <-c.ended }

// Ended returns a channel that is closed at the end of the input.
func (c *Conversation) Ended() <-chan struct{} { return c.ended }

// Die ends the droid with this code.
func (c *Conversation) Die(code int) { c.died <- code }

// initialized is droid's answer to initialize, as far as it is read.
const initialized = `{"protocolVersion":1,"agentCapabilities":{},"agentInfo":{"name":"scripted","version":"1"},` +
	`"authMethods":[{"id":"device-pairing","name":"Login"},{"id":"factory-api-key","name":"Factory API Key"}]}`

// Run plays the droid and returns its exit code, at the end of the input or when the script ends it. open opens a browser.
func Run(in io.Reader, out io.Writer, open func(address string), script Script) int {
	c := &Conversation{open: open, out: out, next: 100, waiting: make(map[string]chan message), ended: make(chan struct{}), died: make(chan int, 1)}
	var playing sync.WaitGroup
	go func() { // ends with the input, which may be after Run
		defer close(c.ended)
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var m message
			if json.Unmarshal(lines.Bytes(), &m) == nil {
				c.take(m, script, &playing)
			}
		}
	}()
	select {
	case code := <-c.died:
		return code
	case <-c.ended:
		playing.Wait()
		return 0
	}
}

func (c *Conversation) take(m message, script Script, playing *sync.WaitGroup) {
	switch m.Method {
	case "":
		c.mu.Lock()
		answered := c.waiting[string(m.ID)]
		delete(c.waiting, string(m.ID))
		c.mu.Unlock()
		if answered != nil {
			answered <- m
		}
	case "initialize":
		var params struct{ ClientCapabilities json.RawMessage }
		_ = json.Unmarshal(m.Params, &params) // without params, none are known
		c.Capabilities = params.ClientCapabilities
		c.Line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, initialized))
	case "authenticate":
		var params struct{ MethodID string }
		_ = json.Unmarshal(m.Params, &params)
		c.id, c.Method = m.ID, params.MethodID
		playing.Go(func() { script(c) })
	}
}

// Start starts the droid on two pipes instead of as a process.
func Start(script Script) login.Start {
	return func() (*login.Process, error) { return start(script), nil }
}

func start(script Script) *login.Process {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	links := make(chan string, 8)
	gone := make(chan int, 1)
	go func() {
		code := Run(in, out, func(address string) { links <- address }, script)
		_ = in.CloseWithError(io.ErrClosedPipe)
		_ = out.Close()
		gone <- code
	}()
	kill := func() { _, _ = in.CloseWithError(io.ErrClosedPipe), stdout.CloseWithError(io.ErrClosedPipe) }
	return &login.Process{
		Stdin: stdin, Stdout: stdout, Links: links, Terminate: func() {}, Kill: kill,
		Wait: func() *login.DiedError {
			kill()
			return &login.DiedError{State: fmt.Sprintf("exit status %d", <-gone), Stderr: []string{"the last words"}}
		},
	}
}
