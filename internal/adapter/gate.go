package adapter

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"
)

// maxLine is the longest line, in bytes without its newline, that the gate lets
// through. The SDK's connection dies of a line of 10 MiB, so the gate stops a
// little short of that.
const maxLine = 10<<20 - 64

// methodCancelRequest is the one notification that the SDK's connection handles
// itself, so that no handler ever releases the gate for it.
const methodCancelRequest = "$/cancel_request"

// gate is what the SDK's connection reads from. It hands over one line a Read
// and opens for the next only when the handler of the last one has called
// release. Without it the connection runs pipelined requests in any order and
// loses a cancel that follows its prompt closely.
//
// Lines that the connection would drop without an answer, or die of, never
// reach it: the gate answers them itself, with the error that JSON-RPC 2.0
// names and under the id of the request wherever that can be known, and goes on.
type gate struct {
	in       *bufio.Reader
	answer   io.Writer              // takes whole lines
	crowded  func() <-chan struct{} // nil while answers find room, else closed when they do
	requests *requests

	rest     []byte   // what is left of the line being handed over
	current  *request // the request handed over last, if it was one; for its handler until it releases
	waiting  bool     // the line handed over last has a handler that will release
	released chan struct{}
	closed   chan struct{}
	closeOne sync.Once
}

func newGate(in io.Reader, answer io.Writer, crowded func() <-chan struct{}, requests *requests) *gate {
	return &gate{
		in:       bufio.NewReaderSize(in, 64<<10),
		answer:   answer,
		crowded:  crowded,
		requests: requests,
		released: make(chan struct{}, 1),
		closed:   make(chan struct{}),
	}
}

// release lets the next line pass. Each handler calls it exactly once, as soon
// as the effect of its message is ordered against that of later ones.
func (g *gate) release() { g.released <- struct{}{} }

// close makes the reader see the end of the input.
func (g *gate) close() { g.closeOne.Do(func() { close(g.closed) }) }

// Read implements io.Reader for the SDK's connection.
func (g *gate) Read(p []byte) (int, error) {
	for len(g.rest) == 0 {
		if g.waiting {
			select {
			case <-g.released:
				g.waiting = false
			case <-g.closed:
				return 0, io.EOF
			}
		}
		line, long, err := g.readLine()
		if err != nil {
			return 0, err
		}
		pass, waits := g.judge(line, long)
		if (pass == nil || g.current != nil) && !g.hasRoom() {
			return 0, io.EOF
		}
		g.rest, g.waiting = pass, waits
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// hasRoom waits until an answer finds room in the outbox: an editor that asks and
// asks and reads no answers is not read either. It reports false when the gate is
// closed. A notification, a cancel above all, and a response need no answer and do
// not wait.
func (g *gate) hasRoom() bool {
	for wait := g.crowded(); wait != nil; wait = g.crowded() {
		select {
		case <-wait:
		case <-g.closed:
			return false
		}
	}
	return true
}

// judge returns what goes to the connection for a line, and whether a handler will
// release the gate for it. It runs in a goroutine of the SDK's, where a panic
// would end the program: here it is the answer to the line.
func (g *gate) judge(line []byte, long *outline) (pass []byte, waits bool) {
	defer func() {
		if p := recover(); p != nil {
			pass, waits = g.refuseLine(line, panicError(p)), false
		}
	}()
	g.current = nil
	if long != nil {
		return g.refuse(long, invalidRequest(
			"the message is longer than 10 MiB; send large files as resource links instead of embedding them")), false
	}
	return g.admit(line)
}

// readLine returns the next line without its newline. Of a line longer than
// maxLine there is the outline alone.
func (g *gate) readLine() (line []byte, long *outline, err error) {
	for {
		part, err := g.in.ReadSlice('\n')
		if long != nil {
			long.read(part)
		} else if line = append(line, part...); len(bytes.TrimRight(line, "\r\n")) > maxLine {
			long = new(outline)
			long.read(line)
			line = nil
		}
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), long, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (long != nil || len(line) > 0):
			return line, long, nil
		default:
			return nil, nil, err
		}
	}
}

// frame is the outline of a JSON-RPC message. It decodes as strictly as the
// SDK's own type does, so that whatever passes the gate is understood there.
type frame struct {
	JSONRPC string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id"`
	Method  string            `json:"method"`
	Params  json.RawMessage   `json:"params"`
	Result  json.RawMessage   `json:"result"`
	Error   *acp.RequestError `json:"error"`
}

// whiteSpace is what JSON allows around a message.
const whiteSpace = " \t\r\n"

// admit returns what goes to the connection for a line, and whether a handler
// will release the gate for it. Lines refused are answered here.
func (g *gate) admit(line []byte) (pass []byte, waits bool) {
	trimmed := bytes.Trim(line, whiteSpace)
	if len(trimmed) == 0 {
		return nil, false
	}
	var f frame
	if err := f.decode(trimmed); err != nil {
		return g.refuseLine(trimmed, err), false
	}
	isNotification := len(f.ID) == 0
	if f.Method != "" && !isNotification {
		g.current = g.requests.add(f.ID)
	}
	return append(line, '\n'), f.Method != "" && !(isNotification && f.Method == methodCancelRequest)
}

// decode reads a message that the connection will understand.
func (f *frame) decode(line []byte) *acp.RequestError {
	switch {
	case !json.Valid(line):
		return acp.NewParseError(details("the line is not valid JSON; each message is one line of JSON"))
	case line[0] == '[':
		return acp.NewInvalidRequest(details("ACP has no batches; send each message on a line of its own"))
	case line[0] != '{' || json.Unmarshal(line, f) != nil:
		return acp.NewInvalidRequest(details("the line is not a JSON-RPC message"))
	}
	return f.check()
}

// check finds what the SDK's connection would take for something else or drop.
func (f *frame) check() *acp.RequestError {
	switch {
	case f.JSONRPC != "2.0":
		return acp.NewInvalidRequest(details(`"jsonrpc" must be "2.0"`))
	case len(f.ID) > 0 && f.answerID() == nil:
		return acp.NewInvalidRequest(details(`"id" must be a string or a number`))
	case f.Method == "" && len(f.ID) == 0:
		return acp.NewInvalidRequest(details(`a message needs a "method" or an "id"`))
	case f.Method == "" && f.Result == nil && f.Error == nil:
		return acp.NewInvalidRequest(details(`a request needs a "method", a response a "result" or an "error"`))
	}
	return nil
}

// answerID is the id to answer with: the message's own if it is one that
// JSON-RPC allows, else nil.
func (f *frame) answerID() json.RawMessage {
	if len(f.ID) == 0 || !strings.ContainsRune(`"-0123456789`, rune(f.ID[0])) {
		return nil
	}
	return f.ID
}

// refuseLine answers a line that does not go to the connection, each request of
// a batch by itself. What it returns goes there instead.
func (g *gate) refuseLine(line []byte, e *acp.RequestError) []byte {
	var batch []json.RawMessage
	if json.Unmarshal(line, &batch) != nil {
		batch = []json.RawMessage{line}
	}
	var pass []byte
	answered := 0
	for _, message := range batch {
		o := new(outline)
		o.read(message)
		if o.deepest > maxDepth {
			e = acp.NewInvalidRequest(details(fmt.Sprintf("the message has more than %d levels of lists and objects", maxDepth)))
		}
		if len(batch) > 1 && o.id == nil {
			continue // nobody waits for it
		}
		pass = append(pass, g.refuse(o, e)...)
		answered++
	}
	if answered == 0 {
		g.answerError(nil, e)
	}
	return pass
}

// refuse answers a message with an error, under its id where it is known. A
// response belongs to a request of the agent's own, which gets the error: the
// line returned, for the connection.
func (g *gate) refuse(o *outline, e *acp.RequestError) []byte {
	switch {
	case o.blank():
		return nil
	case o.isResponse():
		return errorLine(o.id, e)
	}
	g.answerError(o.id, e)
	return nil
}

func (g *gate) answerError(id json.RawMessage, e *acp.RequestError) {
	_, _ = g.answer.Write(errorLine(id, e)) // a client that is gone needs no answer
}

// errorLine is an error response. An id that is not known is null.
func errorLine(id json.RawMessage, e *acp.RequestError) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	line, err := json.Marshal(struct {
		JSONRPC string            `json:"jsonrpc"`
		ID      json.RawMessage   `json:"id"`
		Error   *acp.RequestError `json:"error"`
	}{"2.0", id, e})
	if err != nil {
		return nil // ids and errors of our own making always encode
	}
	return append(line, '\n')
}
