package login

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/visible"
)

// run is one login: one droid, and all who wait for it.
type run struct {
	desk   *Desk
	method string
	caps   json.RawMessage

	ctx    context.Context // ends when nobody waits any more, or the desk is closed
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	members []*member // the first of them is asked
	told    []event   // for those who come late
	asks    []*ask    // requests of droid's without an answer

	proc  *Process // nil before the start
	conn  *jsonrpc.Conn
	login chan answer // droid's to authenticate, which may come when nobody waits for it any more

	done   chan struct{} // closed when result and err are set
	result json.RawMessage
	err    error
}

func newRun(d *Desk, method string, caps json.RawMessage) *run {
	r := &run{desk: d, method: method, caps: caps, done: make(chan struct{}), login: make(chan answer, 1)}
	r.ctx, r.cancel = context.WithCancelCause(d.ctx)
	return r
}

// work does the login. It returns when the outcome is told and droid is gone.
func (r *run) work() {
	defer r.cancel(nil)
	defer close(r.done)
	defer r.desk.over(r)
	defer func() {
		if p := recover(); p != nil {
			r.desk.log.Error("panic while droid logged in", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			r.result, r.err = nil, errors.New("droid-acp failed while droid logged in; the details are in its log")
		}
	}()
	result, err := r.attempt()
	if err == nil {
		r.desk.succeeded(r.method)
	}
	r.result, r.err = result, err
}

// attempt starts droid, has it log in and ends it.
func (r *run) attempt() (json.RawMessage, error) {
	proc, err := r.desk.start()
	if err != nil {
		return nil, err
	}
	defer proc.Kill() // it is gone by then, unless this panicked
	r.proc = proc
	r.conn = jsonrpc.New(proc.Stdout, proc.Stdin, r.heard, jsonrpc.Options{MaxLine: maxLine, ToTheEnd: true, Refused: func(*jsonrpc.Error) {
		r.desk.log.Debug("droid wrote a line that is no message, while it logs in")
	}}, r.desk.log)
	defer r.conn.Abort()
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		r.conn.Run(context.Background())
	}()
	closeInput := func() { _ = proc.Stdin.Close() }
	defer context.AfterFunc(r.ctx, closeInput)() // a write that hangs ends, and droid does

	result, err := r.converse()
	closeInput()
	r.end(ran)
	select {
	case late := <-r.login: // it came while droid was told to end
		if err != nil && late.err == nil {
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
func (r *run) converse() (json.RawMessage, error) {
	capabilities, err := r.call(make(chan answer, 1), "initialize", initializeParams(r.caps), StartTime, ErrStartTime)
	if err != nil {
		return nil, err
	}
	if err := known(r.method, offered(capabilities)); err != nil {
		return nil, err
	}
	return r.call(r.login, "authenticate", map[string]string{"methodId": r.method}, Time, ErrTime)
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
func (r *run) call(answered chan answer, method string, params any, limit time.Duration, late error) (json.RawMessage, error) {
	r.conn.Ask(method, params, func(result json.RawMessage, err error) { answered <- newAnswer(result, err) })
	timer := time.NewTimer(limit)
	defer timer.Stop()
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
				r.tell(event{link: address})
			}
		case <-timer.C:
			return nil, late
		case <-r.ctx.Done():
			return nil, context.Cause(r.ctx)
		}
	}
}

// heard passes on what droid says of itself.
func (r *run) heard(c *jsonrpc.Call) {
	c.Method, c.Params = visible.Line(c.Method), safe(c.Params)
	switch {
	case c.Response == nil:
		r.tell(event{notice: c})
	case leadsNowhere(c):
		refuse(c, "that is no address on the web")
	default:
		r.ask(c)
	}
}

// refuse answers a request of droid's with an error of our own.
func refuse(c *jsonrpc.Call, why string) {
	c.Respond(nil, &jsonrpc.Error{Code: -32603, Message: why})
}

// How long a droid may take to end.
const (
	endTime       = 2 * time.Second // after the end of its input; 0.05 s were seen
	terminateTime = time.Second     // after it was asked once more
)

// end ends droid, whose input has ended, politely. It returns when its output has ended, or
// when it was killed.
func (r *run) end(ran <-chan struct{}) {
	for _, step := range []struct {
		wait time.Duration
		then func()
	}{{endTime, r.proc.Terminate}, {terminateTime, r.proc.Kill}} {
		timer := time.NewTimer(step.wait)
		select {
		case <-ran:
			timer.Stop()
			return
		case <-timer.C:
			step.then()
		}
	}
	<-ran
}
