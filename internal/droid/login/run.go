package login

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/visible"
)

// maxMessages is how many messages of droid's are passed on in one login. Not a single one was
// ever seen.
const maxMessages = 64

// attempt is one login: one droid, and who waits for it.
type attempt struct {
	method   string
	l        Listener
	log      *zap.Logger
	messages atomic.Int32 // how many messages of droid's there were

	proc *Process
	conn *jsonrpc.Conn
}

// Do starts a droid by start, has it log in by the method, and returns droid's result, which
// is JSON, when that droid is gone. When ctx ends, droid is told to end, which takes up to
// 4 s; a success that it tells even then is one.
//
// The error is droid's own (*Error), the cause of ctx's end, or why droid gave no answer:
// *NoMethodError, *DiedError, ErrStartTime, ErrTime, or what start returned.
func Do(ctx context.Context, start Start, method string, l Listener, log *zap.Logger) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	proc, err := start()
	if err != nil {
		return nil, err
	}
	defer proc.Kill() // it is gone by then, unless this panicked
	r := &attempt{method: method, l: l, log: log, proc: proc}
	r.conn = jsonrpc.New(proc.Stdout, proc.Stdin, r.handle, jsonrpc.Options{MaxLine: maxLine, ReadToEnd: true, Rejected: func(*jsonrpc.Error) {
		log.Debug("droid wrote a line that is no message, while it logs in")
	}}, log)
	defer r.conn.Abort()
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		r.conn.Run(context.Background())
	}()
	closeInput := func() { _ = proc.Stdin.Close() }
	defer context.AfterFunc(ctx, closeInput)() // a write that hangs ends, and droid does

	login := make(chan loginAnswer, 1) // droid's to authenticate, which may come when droid is told to end
	result, err := r.converse(ctx, login)
	closeInput()
	r.end(ran)
	select {
	case late := <-login:
		if late.err == nil {
			result, err = late.result, nil
		}
	default:
	}
	exit := proc.Wait()
	if errors.Is(err, jsonrpc.ErrGone) {
		err = exit
	}
	return result, err
}

// converse asks droid what it can do, and then to log in.
func (r *attempt) converse(ctx context.Context, login chan loginAnswer) (json.RawMessage, error) {
	capabilities, err := r.call(ctx, make(chan loginAnswer, 1), "initialize", initializeParams(r.l.Capabilities), StartTime, ErrStartTime)
	if err != nil {
		return nil, err
	}
	if has := offered(capabilities); !slices.Contains(has, r.method) {
		return nil, &NoMethodError{Method: r.method, Has: has}
	}
	return r.call(ctx, login, "authenticate", map[string]string{"methodId": r.method}, Time, ErrTime)
}

// initializeParams are what droid is told of the client.
func initializeParams(caps json.RawMessage) any {
	if len(caps) == 0 {
		caps = json.RawMessage("{}")
	}
	return map[string]any{
		"protocolVersion":    1,
		"clientCapabilities": caps,
		"clientInfo":         map[string]string{"name": "droid-acp", "version": "1"},
	}
}

// offered are the ids of the methods in droid's answer to initialize.
func offered(answer json.RawMessage) (ids []string) {
	var result struct{ AuthMethods []struct{ ID string } }
	_ = json.Unmarshal(answer, &result) // of another form: it offers nothing that is known
	for _, m := range result.AuthMethods {
		ids = append(ids, m.ID)
	}
	return ids
}

// call sends a request and returns its answer, which comes by the channel, or ErrGone when
// droid is gone. late is the error when that takes longer than limit.
func (r *attempt) call(ctx context.Context, answered chan loginAnswer, method string, params any, limit time.Duration, late error) (json.RawMessage, error) {
	r.conn.Ask(method, params, func(result json.RawMessage, err error) { answered <- newAnswer(result, err) })
	tooLate := time.After(limit)
	links := r.proc.Links
	for {
		select {
		case a := <-answered:
			return a.result, a.err
		case address, open := <-links:
			if !open {
				links = nil
				continue
			}
			if IsLink(address) {
				r.l.Link(address)
			}
		case <-tooLate:
			return nil, late
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// handle passes on what droid says of itself.
func (r *attempt) handle(c *jsonrpc.Call) {
	c.Method, c.Params = visible.Line(c.Method), safe(c.Params)
	switch {
	case r.messages.Add(1) > maxMessages:
		r.log.Warn("droid says too much while it logs in; this is dropped")
		refuse(c, "too much was asked")
	case c.Response == nil:
		r.l.Tell(c.Method, c.Params)
	case hasInvalidURL(c):
		refuse(c, "that is no address on the web")
	default:
		c.Async()
		result, err := r.l.Ask(c.Context, c.Method, c.Params)
		var refused *Error
		if err != nil && !errors.As(err, &refused) {
			refused = &Error{Code: jsonrpc.CodeInternalError, Message: "there is no answer"}
		}
		c.Respond(result, refused)
	}
}

// refuse answers a request of droid's with an error of our own.
func refuse(c *jsonrpc.Call, why string) {
	c.Respond(nil, &Error{Code: jsonrpc.CodeInternalError, Message: why})
}

// How long a droid may take to end.
const (
	endTime       = 2 * time.Second // after the end of its input; 0.05 s were seen
	terminateTime = time.Second     // after it was asked once more
)

// end ends droid, whose input has ended, politely. It returns when its output has ended, or
// when it was killed.
func (r *attempt) end(ran <-chan struct{}) {
	for _, step := range []struct {
		wait time.Duration
		then func()
	}{{endTime, r.proc.Terminate}, {terminateTime, r.proc.Kill}} {
		select {
		case <-ran:
			return
		case <-time.After(step.wait):
			step.then()
		}
	}
	<-ran
}
