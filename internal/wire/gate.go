package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"
)

// maxLine is the longest line, in bytes without its newline, that the gate lets
// through. The SDK's connection dies of a line of 10 MiB, so the gate stops a
// little short of that.
const maxLine = 10<<20 - 64

// methodCancelRequest is the one notification that the SDK's connection handles
// itself, so that no handler ever releases the gate for it.
const methodCancelRequest = "$/cancel_request"

// whiteSpace is what JSON allows around a message.
const whiteSpace = " \t\r\n"

// gate is what the SDK's connection reads from. It hands over one line a Read and
// opens for the next when the handler of that line has called release: so messages
// take effect in the order in which they came.
//
// Lines that the connection would drop without an answer, or die of, never reach
// it: the gate answers them itself, with the error that JSON-RPC 2.0 names and
// under the id of the request wherever that can be known, and goes on.
type gate struct {
	in       *bufio.Reader
	answer   io.Writer              // takes whole lines
	overfull func() <-chan struct{} // nil while answers find room, else closed when they do
	pending  *pending
	log      *zap.Logger

	rest     []byte    // what is left of the line being handed over
	current  *Response // to the line handed over last, nil if it was no request; its handler reads it before it releases
	waiting  bool      // the line handed over last has a handler that will release
	released chan struct{}
	closed   chan struct{}
	closeOne sync.Once
}

func newGate(in io.Reader, answer io.Writer, overfull func() <-chan struct{}, pending *pending, log *zap.Logger) *gate {
	return &gate{
		in:       bufio.NewReaderSize(in, 64<<10),
		answer:   answer,
		overfull: overfull,
		pending:  pending,
		log:      log,
		released: make(chan struct{}, 1),
		closed:   make(chan struct{}),
	}
}

// release lets the next line pass. It is called once for each line that has a
// handler.
func (g *gate) release() { g.released <- struct{}{} }

// close makes the connection see the end of the input, unless it waits for the
// editor's next line.
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
	for wait := g.overfull(); wait != nil; wait = g.overfull() {
		select {
		case <-wait:
		case <-g.closed:
			return false
		}
	}
	return true
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
		case errors.Is(err, bufio.ErrBufferFull): // there is more of it
		case errors.Is(err, io.EOF) && (long != nil || len(line) > 0):
			return line, long, nil
		default:
			return nil, nil, err
		}
	}
}

// judge returns what goes to the connection for a line, and whether a handler will
// release the gate for it. It runs in a goroutine of the SDK's, where a panic would
// end the program: here it is logged and the answer to the line.
func (g *gate) judge(line []byte, long *outline) (pass []byte, waits bool) {
	defer func() {
		if p := recover(); p != nil {
			logPanic(g.log, "panic in the gate", p)
			pass, waits = g.refuseLine(line, PanicError(p)), false
		}
	}()
	g.current = nil
	if long != nil {
		return g.refuse(long, NewError(codeInvalidRequest, "Invalid request",
			"the message is longer than 10 MiB; send large files as resource links instead of embedding them")), false
	}
	return g.admit(line)
}

// admit is judge for a line that is not too long.
func (g *gate) admit(line []byte) (pass []byte, waits bool) {
	trimmed := bytes.Trim(line, whiteSpace)
	if len(trimmed) == 0 {
		return nil, false
	}
	var f frame
	if err := f.decode(trimmed); err != nil {
		return g.refuseLine(trimmed, err), false
	}
	if f.isRequest() {
		g.current = g.pending.add(f.ID)
	}
	return append(line, '\n'), f.hasHandler()
}

// refuseLine answers a line that does not go to the connection, each request of a
// batch by itself. What it returns goes there instead.
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
			e = malformed(fmt.Sprintf("the message has more than %d levels of lists and objects", maxDepth))
		}
		if o.id == nil {
			continue // nobody waits for an answer to it
		}
		pass = append(pass, g.refuse(o, e)...)
		answered++
	}
	if answered == 0 { // the line is not passed over in silence
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
