package smoke

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
)

// AttachOptions say what is attached to, and what a person does there.
type AttachOptions struct {
	Session string
	CWD     string      // of the session, absolute
	Typed   io.Reader   // the lines of a person who answers and prompts, nil for one who watches
	Colour  bool        // show the conversation in colours
	Log     *zap.Logger // of the client's own mistakes; nil for none
}

// attached is a client of a session that runs.
type attached struct {
	conn *jsonrpc.Conn
	o    AttachOptions
	fail context.CancelCauseFunc // ends it with this error

	mu   sync.Mutex
	over bool // nothing is shown any more
	show viewer
	asks []*ask // that wait for an answer, the oldest first
	held string // a number that was typed last, and answered nothing
}

// ask is a question that waits for an answer.
type ask struct {
	call    *jsonrpc.Call
	options []option
}

// Attach joins a session of the agent behind in and out and shows on w what was said there and what
// comes. With Typed a number answers the oldest question that waits, and any other line is a
// prompt; so is a number that was typed twice while none waits. It returns nil when ctx ends or there are no more lines: the session goes on. The
// goroutine that waits for a line stays behind where none comes.
func Attach(ctx context.Context, in io.Reader, out, w io.Writer, o AttachOptions) error {
	inner, fail := context.WithCancelCause(ctx)
	a := &attached{o: o, show: viewer{w: w, colour: o.Colour}, fail: fail}
	a.conn = jsonrpc.New(in, out, a.heard, jsonrpc.Options{
		MaxLine: 256 << 20,
		Refused: func(e *jsonrpc.Error) {
			a.fail(errors.New("the server wrote a line that is not JSON-RPC: " + e.Message))
		},
	}, cmp.Or(o.Log, zap.NewNop()))
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		a.conn.Run(inner)
		a.fail(errors.New("the server has closed the connection"))
	}()
	defer func() {
		a.fail(nil)
		a.conn.Abort()
		<-ran
		a.end()
	}()
	if err := a.join(inner); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("session %s cannot be joined: %w", o.Session, err)
	}
	typed := make(chan string)
	if o.Typed != nil {
		go readTyped(inner, o.Typed, typed)
	}
	for {
		select {
		case line, more := <-typed:
			if !more {
				return nil
			}
			a.say(strings.TrimSpace(line))
		case <-inner.Done():
			if ctx.Err() != nil {
				return nil
			}
			return context.Cause(inner)
		}
	}
}

// readTyped passes lines on until there are no more.
func readTyped(ctx context.Context, from io.Reader, to chan<- string) {
	defer close(to)
	for lines := bufio.NewScanner(from); lines.Scan(); {
		select {
		case to <- lines.Text():
		case <-ctx.Done():
			return
		}
	}
}

// join opens the session, of which what was said so far comes before the answer.
func (a *attached) join(ctx context.Context) error {
	if _, err := a.conn.Request(ctx, "initialize", map[string]any{
		"protocolVersion": 1, "clientCapabilities": map[string]any{}, "clientInfo": map[string]any{"name": "droid-acp attach", "version": "1"},
	}); err != nil {
		return err
	}
	answered := make(chan error, 1)
	a.conn.Ask("session/load", map[string]any{"sessionId": a.o.Session, "cwd": a.o.CWD, "mcpServers": []any{}}, func(_ json.RawMessage, err error) {
		if err == nil {
			a.note("joined", "what comes now is live; "+a.help())
		}
		answered <- err
	})
	return <-answered // at the end of ctx, too
}

// help is what a person can do.
func (a *attached) help() string {
	if a.o.Typed == nil {
		return "Ctrl-C leaves, and the session goes on"
	}
	return "a line is a prompt, a number answers a question, Ctrl-C leaves, and the session goes on"
}

// heard shows an update, and keeps a question until it is answered here or elsewhere.
func (a *attached) heard(call *jsonrpc.Call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	switch call.Method {
	case "session/update":
		u, err := readUpdate(call.Params)
		if err != nil {
			a.show.entry("?", string(call.Params))
			return
		}
		a.show.update(u)
	case "session/request_permission":
		a.question(call)
	default:
		call.Respond(nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found: " + call.Method})
	}
}

// question shows a question. The caller holds mu.
func (a *attached) question(call *jsonrpc.Call) {
	var p permissionRequest
	if err := json.Unmarshal(call.Params, &p); err != nil {
		call.Respond(nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid params: " + err.Error()})
		return
	}
	q := &ask{call, p.Options}
	a.asks = append(a.asks, q)
	a.show.asked(p.call(), p.Options, func(i int) string { return strconv.Itoa(i+1) + ". " })
	context.AfterFunc(call.Context, func() { a.withdrawn(q) }) // also when it was answered here
}

// withdrawn says that another one has answered a question.
func (a *attached) withdrawn(q *ask) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.asks, q)
	if i >= 0 && !a.over && !errors.Is(context.Cause(q.call.Context), jsonrpc.ErrGone) {
		a.asks = slices.Delete(a.asks, i, i+1)
		a.show.entry("answer", "(given elsewhere)")
	}
}

// say does what a person has typed.
func (a *attached) say(line string) {
	if line == "" {
		return
	}
	if number, err := strconv.Atoi(line); err == nil && (a.answer(number) || a.holds(line)) {
		return
	}
	a.conn.Ask("session/prompt", map[string]any{
		"sessionId": a.o.Session, "prompt": []any{map[string]any{"type": "text", "text": line}},
	}, a.prompted)
}

// prompted says how a prompt of this client ended, where that is not what one expects.
func (a *attached) prompted(result json.RawMessage, err error) {
	var done struct {
		StopReason string `json:"stopReason"`
	}
	switch {
	case errors.Is(err, jsonrpc.ErrGone):
	case err != nil:
		a.note("failed", err.Error())
	case json.Unmarshal(result, &done) == nil && done.StopReason != endTurn:
		a.note("turn", "ended with "+done.StopReason)
	}
}

// answer answers the oldest question. It reports false where none waits.
func (a *attached) answer(number int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.asks) == 0 {
		return false
	}
	q := a.asks[0]
	a.held = ""
	if number < 1 || number > len(q.options) {
		a.show.entry("", fmt.Sprintf("type a number from 1 to %d", len(q.options)))
		return true
	}
	a.asks = a.asks[1:]
	chosen := q.options[number-1]
	a.show.answered(chosen)
	q.call.Respond(map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": chosen.OptionID}}, nil)
	return true
}

// holds reports whether a number is not sent as a prompt, which says so: it may have been meant for a question that
// another window has answered meanwhile. Typed twice it is a prompt.
func (a *attached) holds(line string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == line {
		a.held = ""
		return false
	}
	a.held = line
	a.show.entry("", "nothing is asked now; to send "+line+" as a prompt, type it again")
	return true
}

func (a *attached) note(label, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		a.show.entry(label, text)
	}
}

// end ends a running text block. Nothing is shown after that.
func (a *attached) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	a.show.end()
}
