// Package fakelogin plays the droid that logs in: droid in its own ACP mode, as far as
// that was seen with 0.99.0 and 0.225.2, and further where a script says so. What it does
// beyond opening a browser and refusing is invented: no droid was seen to succeed, to ask
// or to tell.
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

// Address is where the scripts here have the user log in.
const Address = "https://login.example.invalid/device?user_code=ABCD-EFGH"

// Script answers one authenticate. The droid lives on after it, until its input ends or
// the script has called Conversation.Die.
type Script func(c *Conversation)

// Conversation is what a script can do.
type Conversation struct {
	Method       string          // the method by which the client wants to log in
	Capabilities json.RawMessage // what the client said it can do

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

// Line writes a line as it stands.
func (c *Conversation) Line(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.out, line+"\n") // the client is gone: the input ends, too
}

// Open opens an address as droid opens a browser.
func (c *Conversation) Open(address string) { c.open(address) }

// Tell sends a notification. params is JSON.
func (c *Conversation) Tell(method, params string) {
	c.Line(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// Ask sends a request and returns what the answer has: a result or an error. Both are
// empty when the input has ended before.
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

// Succeed answers that droid has logged in. The form of it is a guess.
func (c *Conversation) Succeed() {
	c.Line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, c.id))
}

// Refuse answers as droid does when a pairing was refused (seen).
func (c *Conversation) Refuse() {
	c.Fail(-32603, "Internal error: Device authentication failed", "Authorization failed or expired")
}

// Fail answers with an error.
func (c *Conversation) Fail(code int, text, data string) {
	c.Line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":%q}}`, c.id, code, text, data))
}

// AwaitEnd returns when the input has ended.
func (c *Conversation) AwaitEnd() { <-c.ended }

// Ended is closed when the input has ended.
func (c *Conversation) Ended() <-chan struct{} { return c.ended }

// Die ends the droid with this code.
func (c *Conversation) Die(code int) { c.died <- code }

// initialized is droid's answer to initialize, as far as it is read.
const initialized = `{"protocolVersion":1,"agentCapabilities":{},"agentInfo":{"name":"scripted","version":"1"},` +
	`"authMethods":[{"id":"device-pairing","name":"Login"},{"id":"factory-api-key","name":"Factory API Key"}]}`

// Run plays the droid and returns its exit code, once the input has ended or the script
// wants it. open opens a browser.
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
		_ = json.Unmarshal(m.Params, &params) // without any, none are known
		c.Capabilities = params.ClientCapabilities
		c.Line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, initialized))
	case "authenticate":
		var params struct{ MethodID string }
		_ = json.Unmarshal(m.Params, &params)
		c.id, c.Method = m.ID, params.MethodID
		playing.Go(func() { script(c) })
	}
}

// Start starts the droid on two pipes instead of a process.
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
