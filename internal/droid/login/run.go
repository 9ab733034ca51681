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

// maxMessages is how many messages of droid are passed on in one login. None was ever observed.
const maxMessages = 64

// attempt is one login: one droid, and its Listener.
type attempt struct {
	method   string
	l        Listener
	log      *zap.Logger
	messages atomic.Int32 // number of droid's messages so far

	proc *Process
	conn *jsonrpc.Conn
}

// Do starts a droid with start, makes it log in by the method, and returns droid's result, as JSON, when that droid has exited. When ctx
// ends, droid is asked to exit, which takes up to 4 s; a success reported even then counts.
//
// The error is droid's own (*Error), the cause of ctx's end, or the reason for the lack of an answer: *NoMethodError, *DiedError,
// ErrStartTime, ErrTime, or the error of start.
func Do(ctx context.Context, start Start, method string, l Listener, log *zap.Logger) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	proc, err := start()
	if err != nil {
		return nil, err
	}
	defer proc.Kill() // it has exited by then, except after a panic
	r := &attempt{method: method, l: l, log: log, proc: proc}
	r.conn = jsonrpc.New(proc.Stdout, proc.Stdin, r.handle, jsonrpc.Options{MaxLine: maxLine, ReadToEnd: true, Rejected: func(*jsonrpc.Error) {
		log.Debug("droid wrote an invalid line during the login")
	}}, log)
	defer r.conn.Abort()
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		r.conn.Run(context.Background())
	}()
	closeInput := func() { _ = proc.Stdin.Close() }
	defer context.AfterFunc(ctx, closeInput)() // ends a blocked write, and droid

	login := make(chan loginAnswer, 1) // droid's answer to authenticate, which may arrive while droid is being ended
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

// converse initializes droid, and then asks it to log in.
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

// initializeParams returns the params of initialize for a client with these capabilities.
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

// offered returns the IDs of the methods in droid's answer to initialize.
func offered(answer json.RawMessage) (ids []string) {
	var result struct{ AuthMethods []struct{ ID string } }
	_ = json.Unmarshal(answer, &result) // an invalid answer offers nothing
	for _, m := range result.AuthMethods {
		ids = append(ids, m.ID)
	}
	return ids
}

// call sends a request and returns its answer, which arrives on the channel, or ErrGone if droid exits. late is the error if that takes
// longer than limit.
func (r *attempt) call(ctx context.Context, answered chan loginAnswer, method string, params any, limit time.Duration, late error) (json.RawMessage, error) {
	r.conn.Ask(method, params, func(result json.RawMessage, err error) { answered <- newAnswer(result, err) })
	tooLate := time.After(limit)
	links := r.proc.Links
	for {
		select {
		case a := <-answered:
			if errors.Is(a.err, jsonrpc.ErrGone) && ctx.Err() != nil { // the end of ctx ended droid
				return nil, context.Cause(ctx)
			}
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

// handle passes on a message of droid.
func (r *attempt) handle(c *jsonrpc.Call) {
	c.Method, c.Params = visible.Line(c.Method), safe(c.Params)
	switch {
	case r.messages.Add(1) > maxMessages:
		r.log.Warn("dropped a message of droid: there are too many during this login")
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

// refuse refuses a request of droid.
func refuse(c *jsonrpc.Call, why string) {
	c.Respond(nil, &Error{Code: jsonrpc.CodeInternalError, Message: why})
}

// Time limits for droid's exit.
const (
	endTime       = 2 * time.Second // after the end of its input; 0.05 s were observed
	terminateTime = time.Second     // after it was asked again
)

// end ends droid gracefully after its input has ended. It returns when its output has ended, or after a kill.
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
