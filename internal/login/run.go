package login

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"
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
	lines <-chan message
	send  sender

	done   chan struct{} // closed when result and err are set
	result json.RawMessage
	err    error
}

func newRun(d *Desk, method string, caps json.RawMessage) *run {
	r := &run{desk: d, method: method, caps: caps, done: make(chan struct{})}
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
	r.proc, r.send = proc, newSender(proc.Stdin)
	lines := make(chan message)
	var reading sync.WaitGroup
	stop := make(chan struct{})
	reading.Go(func() {
		defer close(lines)
		read(proc.Stdout, lines, stop, r.desk.log)
	})
	r.lines = lines
	defer context.AfterFunc(r.ctx, r.send.close)() // a write that hangs ends, and droid does

	result, err := r.converse()
	if late := r.end(); late != nil && err != nil {
		result, err = late.Result, nil // it came while droid was told to end
	}
	close(stop)
	reading.Wait()
	exit := proc.Wait()
	if errors.Is(err, errGone) {
		err = exit
	}
	return result, err
}

// The ids of the two requests.
const (
	idInitialize   = "1"
	idAuthenticate = "2"
)

// converse asks droid what it can do, and then to log in.
func (r *run) converse() (json.RawMessage, error) {
	answer, err := r.call(idInitialize, "initialize", initializeParams(r.caps), StartTime, ErrStartTime)
	if err != nil {
		return nil, err
	}
	if err := known(r.method, offered(answer)); err != nil {
		return nil, err
	}
	return r.call(idAuthenticate, "authenticate", map[string]string{"methodId": r.method}, Time, ErrTime)
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

// errGone is why a call has no answer when droid is gone; its DiedError says more.
var errGone = errors.New("droid is gone")

// call sends a request and deals with all that droid says until the answer comes. late
// is the error when that takes longer than limit.
func (r *run) call(id, method string, params any, limit time.Duration, late error) (json.RawMessage, error) {
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	r.send.message(message{ID: json.RawMessage(id), Method: method, Params: encoded}) // a droid that does not read is silent or gone
	timer := time.NewTimer(limit)
	defer timer.Stop()
	links := r.proc.Links
	for {
		select {
		case m, open := <-r.lines:
			switch {
			case !open:
				return nil, errGone
			case m.answers(id):
				return m.outcome()
			}
			r.heard(m)
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
func (r *run) heard(m message) {
	switch {
	case m.Method == "":
		r.desk.log.Debug("droid answers what it was not asked, while it logs in")
	case len(m.ID) == 0:
		r.tell(event{notice: &m})
	case m.leadsNowhere():
		r.refuse(m, "that is no address on the web")
	default:
		r.ask(m)
	}
}

// respond answers a request of droid's.
func (r *run) respond(m message) {
	if m.Error == nil && len(m.Result) == 0 {
		m.Result = json.RawMessage("null")
	}
	r.send.message(m)
}

// refuse answers a request of droid's with an error of our own.
func (r *run) refuse(request message, why string) {
	r.respond(message{ID: request.ID, Error: &Error{Code: -32603, Message: why}})
}

// How long a droid may take to end.
const (
	endTime       = 2 * time.Second // after the end of its input; 0.05 s were seen
	terminateTime = time.Second     // after it was asked once more
)

// end ends droid politely and returns when its output has ended, or when it was killed.
// If droid says meanwhile that it has logged in, end returns that.
func (r *run) end() (success *message) {
	r.send.close()
	for _, step := range []struct {
		wait time.Duration
		then func()
	}{{endTime, r.proc.Terminate}, {terminateTime, r.proc.Kill}} {
		timer := time.NewTimer(step.wait)
		for waits := true; waits; {
			select {
			case m, open := <-r.lines:
				if !open {
					timer.Stop()
					return success
				}
				if m.answers(idAuthenticate) && m.Error == nil && m.Result != nil {
					success = &m
				}
			case <-timer.C:
				waits = false
			}
		}
		step.then()
	}
	return success
}
