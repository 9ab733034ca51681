package smoke

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"

	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/visible"
)

// AttachOptions configure Attach.
type AttachOptions struct {
	Session  string      // "" for a new session
	CWD      string      // of the session, absolute
	Terminal *Terminal   // of a person who answers and prompts, nil to only watch
	Colour   bool        // show the conversation in colours
	Log      *zap.Logger // for errors of the client itself; may be nil
}

// maxAttachLine bounds a message of a server, in bytes.
const maxAttachLine = 256 << 20

// attachment is a client of a running session.
type attachment struct {
	conn *jsonrpc.Conn
	o    AttachOptions
	fail context.CancelCauseFunc // ends it with this error
	edit *screen                 // nil if it only watches

	mu          sync.Mutex
	over        bool // nothing more is shown
	show        viewer
	questions   []*pendingQuestion // unanswered ones, the oldest first, which alone is shown
	held        string             // a number that was entered last, and answered nothing
	interrupted bool               // the last key was Ctrl-C
}

// pendingQuestion is an unanswered question.
type pendingQuestion struct {
	call *jsonrpc.Call
	p    permissionRequest
}

// errUserLeft means that the user has left.
var errUserLeft = errors.New("the user has left")

// Attach joins a session of the agent connected to in and out, or begins one, and shows its conversation so far and its updates on w. On a
// Terminal, entering a number answers the current question, and any other line is a prompt; so is a number that is entered twice and
// answers nothing. Ctrl-C cancels the turn. Attach returns nil when ctx ends or the user leaves, with Ctrl-C twice or Ctrl-D: the session
// continues. The goroutine that reads keys stays behind until a key is pressed.
func Attach(ctx context.Context, in io.Reader, out, w io.Writer, o AttachOptions) error {
	inner, fail := context.WithCancelCause(ctx)
	a := &attachment{o: o, show: viewer{w: w, colour: o.Colour}, fail: fail}
	if o.Terminal != nil {
		a.edit = newScreen(*o.Terminal, w, &keyReader{current: a.current, interrupt: a.interrupt, other: a.otherKey})
		a.show.w, a.show.columns = a.edit, a.edit.columns
	}
	a.conn = jsonrpc.New(in, out, a.handle, jsonrpc.Options{
		MaxLine: maxAttachLine,
		Rejected: func(e *jsonrpc.Error) {
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
	joined := make(chan struct{})
	if a.edit != nil {
		go a.read(inner, joined) // input before a question is shown does not answer it
	}
	err := a.join(inner)
	if err == nil {
		close(joined)
		<-inner.Done()
		err = context.Cause(inner)
	} else if cause := context.Cause(inner); !errors.Is(cause, errUserLeft) {
		err = a.notJoined(err)
	} else {
		err = cause
	}
	if ctx.Err() != nil || errors.Is(err, errUserLeft) {
		return nil
	}
	return err
}

func (a *attachment) notJoined(err error) error {
	if a.o.Session == "" {
		return fmt.Errorf("no session can be begun in %s: %w", a.o.CWD, err)
	}
	return fmt.Errorf("session %s cannot be joined: %w", a.o.Session, err)
}

// read handles the lines that are entered, until the end of input. Lines wait until the session is joined.
func (a *attachment) read(ctx context.Context, joined <-chan struct{}) {
	for {
		line, how, err := a.edit.line()
		if err != nil {
			a.fail(errUserLeft)
			return
		}
		select {
		case <-joined:
			a.enter(line, how)
		case <-ctx.Done():
			return
		}
	}
}

// join opens the session; its conversation so far precedes the answer.
func (a *attachment) join(ctx context.Context) error {
	if _, err := a.conn.Request(ctx, "initialize", map[string]any{
		"protocolVersion": 1, "clientCapabilities": map[string]any{}, "clientInfo": map[string]any{"name": "droid-acp attach", "version": "1"},
	}); err != nil {
		return err
	}
	method, params := "session/load", map[string]any{"sessionId": a.o.Session, "cwd": a.o.CWD, "mcpServers": []any{}}
	if a.o.Session == "" {
		method = "session/new"
		delete(params, "sessionId")
	}
	answered := make(chan error, 1)
	a.conn.Ask(method, params, func(result json.RawMessage, err error) {
		if err == nil {
			err = a.opened(result)
		}
		answered <- err
	})
	return <-answered // also at the end of ctx
}

// opened handles the answer that opens the session.
func (a *attachment) opened(result json.RawMessage) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.o.Session != "" {
		a.show.entry("joined", "what comes now is live; "+a.help())
		return nil
	}
	var begun struct{ SessionID string }
	if err := json.Unmarshal(result, &begun); err != nil || begun.SessionID == "" {
		return errors.New("the agent's answer names no session")
	}
	a.o.Session = begun.SessionID
	a.show.entry("begun", "session "+begun.SessionID+" in "+a.o.CWD+"; "+a.help())
	return nil
}

// help describes what a person can do.
func (a *attachment) help() string {
	if a.edit == nil {
		return "Ctrl-C leaves, and the session goes on"
	}
	return "Enter sends a prompt, Alt-Enter or Ctrl-J begins a new line in it, a number answers what is asked, Ctrl-C cancels the turn and twice leaves, Ctrl-D leaves; the session goes on"
}

// handle shows an update, and keeps a question until it is answered here or elsewhere.
func (a *attachment) handle(call *jsonrpc.Call) {
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

// question adds a question, which is shown when it is the oldest.
func (a *attachment) question(call *jsonrpc.Call) {
	q := &pendingQuestion{call: call}
	if err := json.Unmarshal(call.Params, &q.p); err != nil {
		call.Respond(nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid params: " + err.Error()})
		return
	}
	if a.questions = append(a.questions, q); len(a.questions) == 1 {
		a.showQuestion()
	} else {
		a.show.entry("", fmt.Sprintf("another question waits behind this one (%d in all)", len(a.questions)))
	}
	context.AfterFunc(call.Context, func() { a.withdrawn(q) }) // also when it was answered here
}

// showQuestion shows the oldest question, if there is one, and what the next line is for. The caller holds mu.
func (a *attachment) showQuestion() {
	a.held = ""
	if len(a.questions) == 0 {
		a.mark("> ")
		return
	}
	q := a.questions[0]
	a.mark(fmt.Sprintf("1-%d (%s)> ", len(q.p.Options), shorten(visible.Line(q.p.call().Title))))
	a.show.asked(q.p.call(), q.p.Options, func(i int) string { return strconv.Itoa(i+1) + ". " })
}

// titleLength is the maximum number of characters of a title before a line.
const titleLength = 30

func shorten(title string) string {
	if runes := []rune(title); len(runes) > titleLength {
		return string(runes[:titleLength-1]) + "…"
	}
	return title
}

func (a *attachment) mark(text string) {
	if a.edit != nil {
		a.edit.mark(text)
	}
}

// current returns the question that is shown, nil if none.
func (a *attachment) current() *pendingQuestion {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.questions) == 0 {
		return nil
	}
	return a.questions[0]
}

// withdrawn shows that another client has answered a question.
func (a *attachment) withdrawn(q *pendingQuestion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.questions, q)
	if i < 0 || a.over || errors.Is(context.Cause(q.call.Context), jsonrpc.ErrGone) {
		return
	}
	a.questions = slices.Delete(a.questions, i, i+1)
	if i == 0 {
		a.show.entry("answer", "(given elsewhere, or no longer asked)")
		a.showQuestion()
	}
}

// enter handles an entered line.
func (a *attachment) enter(line string, how lineOrigin) {
	if line == "" {
		return
	}
	if number, is := numberIn(line); is && !a.isRepeated(number, line, how) {
		return
	}
	a.conn.Ask("session/prompt", map[string]any{
		"sessionId": a.o.Session, "prompt": []any{map[string]any{"type": "text", "text": line}},
	}, a.prompted)
}

// prompted shows how a prompt of this client ended.
func (a *attachment) prompted(result json.RawMessage, err error) {
	var done struct {
		StopReason string `json:"stopReason"`
	}
	switch {
	case errors.Is(err, jsonrpc.ErrGone):
	case err != nil:
		a.note("failed", err.Error())
	case json.Unmarshal(result, &done) == nil:
		a.note("turn", "ended with "+done.StopReason)
	}
}

// isRepeated reports whether a number is sent as a prompt: if it is entered twice while there is no question. If there is one, the number
// answers it, provided that it was typed while that was shown.
func (a *attachment) isRepeated(number int, line string, how lineOrigin) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case len(a.questions) > 0:
		a.answerNumber(a.questions[0], number, how)
	case a.held == line:
		a.held = ""
		return true
	default:
		a.held = line
		a.show.entry("", "nothing is asked now; to send "+line+" as a prompt, enter it again")
	}
	return false
}

// answerNumber answers a question with a number, or says why that is impossible. The caller holds mu.
func (a *attachment) answerNumber(q *pendingQuestion, number int, how lineOrigin) {
	switch {
	case !how.typed:
		a.show.entry("", "a number that is pasted, or comes together with other keys, is no answer; type it again")
	case how.question != q:
		a.show.entry("", "you began to type before this question was shown; type it again")
	case number < 1 || number > len(q.p.Options):
		a.show.entry("", fmt.Sprintf("type a number from 1 to %d", len(q.p.Options)))
	default:
		a.answer(q.p.Options[number-1])
	}
}

// answer answers the oldest question, and shows the next one. The caller holds mu.
func (a *attachment) answer(chosen option) {
	q := a.questions[0]
	a.questions = a.questions[1:]
	a.show.answered(chosen)
	q.call.Respond(map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": chosen.OptionID}}, nil)
	a.showQuestion()
}

// interrupt cancels the turn, or leaves when called twice in a row.
func (a *attachment) interrupt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.interrupted || a.o.Session == "" {
		a.fail(errUserLeft)
		return
	}
	a.interrupted = true
	a.show.entry("", "what runs here is cancelled; Ctrl-C once more leaves, and the session goes on")
	_ = a.conn.Notify("session/cancel", map[string]any{"sessionId": a.o.Session}) // it can be encoded
}

// otherKey records a key other than Ctrl-C.
func (a *attachment) otherKey() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.interrupted = false
	a.edit.fit()
}

func (a *attachment) note(label, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		a.show.entry(label, text)
	}
}

// end ends a running text block. Nothing is shown afterwards.
func (a *attachment) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	a.show.end()
	if a.edit != nil {
		a.edit.close()
	}
}
