package adapter

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
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
// names, and goes on.
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
		line, err := g.readLine()
		if err != nil {
			return 0, err
		}
		pass, waits := g.admit(line)
		if (!pass || g.current != nil) && !g.hasRoom() {
			return 0, io.EOF
		}
		if pass {
			g.rest, g.waiting = append(line, '\n'), waits
		}
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

// readLine returns the next line without its newline. Of a line that is too
// long it keeps only the beginning, which is over maxLine and so is refused by
// admit.
func (g *gate) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := g.in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0:
			return line, nil
		default:
			return nil, err
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

// admit reports whether a line goes to the connection, and whether a handler
// will release the gate for it. Lines refused are answered here.
func (g *gate) admit(line []byte) (pass, waits bool) {
	g.current = nil
	trimmed := bytes.TrimSpace(line)
	switch {
	case len(trimmed) == 0:
		return false, false
	case len(line) > maxLine:
		g.refuse(idOfPrefix(line), invalidRequest(
			"the message is longer than 10 MiB; send large files as resource links instead of embedding them"))
		return false, false
	case !json.Valid(trimmed):
		g.refuse(nil, acp.NewParseError(details("the line is not valid JSON; each message is one line of JSON")))
		return false, false
	case trimmed[0] == '[':
		g.refuse(nil, acp.NewInvalidRequest(details("ACP has no batches; send each message on a line of its own")))
		return false, false
	}
	var f frame
	if err := json.Unmarshal(trimmed, &f); err != nil || trimmed[0] != '{' {
		g.refuse(nil, acp.NewInvalidRequest(details("the line is not a JSON-RPC message")))
		return false, false
	}
	if err := f.check(); err != nil {
		g.refuse(f.answerID(), err)
		return false, false
	}
	isNotification := len(f.ID) == 0
	if f.Method != "" && !isNotification {
		g.current = g.requests.add(f.ID)
	}
	return true, f.Method != "" && !(isNotification && f.Method == methodCancelRequest)
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

func (g *gate) refuse(id json.RawMessage, e *acp.RequestError) {
	if id == nil {
		id = json.RawMessage("null")
	}
	line, err := json.Marshal(struct {
		JSONRPC string            `json:"jsonrpc"`
		ID      json.RawMessage   `json:"id"`
		Error   *acp.RequestError `json:"error"`
	}{"2.0", id, e})
	if err != nil {
		return // ids and errors of our own making always encode
	}
	_, _ = g.answer.Write(append(line, '\n')) // a client that is gone needs no answer
}

// idOfPrefix finds the id of a request of which only the beginning is known, so
// that its sender is not left waiting. It is nil when the id comes later.
func idOfPrefix(prefix []byte) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(prefix))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for {
		key, err := dec.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil
		}
		if key == "id" {
			f := frame{ID: value}
			return f.answerID()
		}
	}
}
