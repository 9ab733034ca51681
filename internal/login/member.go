package login

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"slices"
	"sync"

	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
)

// maxTold is how many messages of droid a late member still gets. More were never seen,
// nor was a single one.
const maxTold = 64

// member is one who waits for a run. Its queue is guarded by the run's mu.
type member struct {
	l     Listener
	queue []event
	wake  chan struct{} // has a token when something was queued
}

// event is something of droid's that a member is to learn: one of the three.
type event struct {
	link   string
	notice *jsonrpc.Call
	ask    *ask
}

// ask is a request of droid's that has no answer yet.
type ask struct {
	*jsonrpc.Call
	to *member
}

// add makes m a member. It gets what was told before.
func (r *run) add(m *member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members = append(r.members, m)
	r.give(m, r.told...)
	if len(r.members) == 1 {
		for _, a := range r.asks { // of one who has left
			r.assign(a)
		}
	}
}

// remove takes a member out and returns how many are left. What it was asked the next
// one is asked.
func (r *run) remove(m *member) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members = slices.DeleteFunc(r.members, func(other *member) bool { return other == m })
	for _, a := range r.asks {
		if a.to == m {
			r.assign(a)
		}
	}
	return len(r.members)
}

// tell queues something for all members, those who come later among them.
func (r *run) tell(ev event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.told) == maxTold {
		r.desk.log.Warn("droid tells too much while it logs in; the rest of it is dropped")
		return
	}
	r.told = append(r.told, ev)
	for _, m := range r.members {
		r.give(m, ev)
	}
}

// ask has a member answer a request of droid's.
func (r *run) ask(request *jsonrpc.Call) {
	if !r.queueAsk(request) {
		refuse(request, "too many requests wait for an answer")
	}
}

// queueAsk reports false when too many requests wait.
func (r *run) queueAsk(request *jsonrpc.Call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.asks) == maxTold {
		return false
	}
	a := &ask{Call: request}
	r.asks = append(r.asks, a)
	r.assign(a)
	return true
}

// assign hands a request to the first member, if there is one. The caller holds mu.
func (r *run) assign(a *ask) {
	a.to = nil
	if len(r.members) > 0 {
		a.to = r.members[0]
		r.give(a.to, event{ask: a})
	}
}

// give queues events for a member. The caller holds mu.
func (r *run) give(m *member, events ...event) {
	m.queue = append(m.queue, events...)
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (r *run) take(m *member) []event {
	r.mu.Lock()
	defer r.mu.Unlock()
	queue := m.queue
	m.queue = nil
	return queue
}

// follow serves a member until the run has its outcome, ctx ends, or the member
// declines.
func (r *run) follow(ctx context.Context, m *member) (json.RawMessage, error) {
	inner, cancel := context.WithCancel(ctx)
	var asked sync.WaitGroup
	defer asked.Wait()
	defer cancel()
	declined := make(chan struct{}, maxTold)
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-declined:
			return nil, ErrDeclined
		case <-m.wake:
			for _, ev := range r.take(m) {
				r.serve(inner, m, ev, &asked, declined)
			}
		case <-r.done:
			for _, ev := range r.take(m) {
				if ev.notice != nil {
					m.l.Tell(ev.notice.Method, ev.notice.Params)
				}
			}
			return r.result, r.err
		}
	}
}

// serve hands one event to the listener.
func (r *run) serve(ctx context.Context, m *member, ev event, asked *sync.WaitGroup, declined chan<- struct{}) {
	switch {
	case ev.notice != nil:
		m.l.Tell(ev.notice.Method, ev.notice.Params)
	case ev.ask != nil:
		asked.Go(func() { r.answer(ctx, m, ev.ask) })
	default:
		asked.Go(func() {
			defer r.recovered(nil)
			if !m.l.Link(ctx, ev.link) && ctx.Err() == nil {
				declined <- struct{}{}
			}
		})
	}
}

// answer has the listener answer a request, and tells droid. A listener that leaves
// meanwhile gives no answer.
func (r *run) answer(ctx context.Context, m *member, a *ask) {
	defer r.recovered(a.Call)
	result, failure := m.l.Ask(ctx, a.Method, a.Params)
	if ctx.Err() != nil || !r.answered(m, a) {
		return
	}
	if failure != nil {
		a.Respond(nil, failure.encoded())
		return
	}
	a.Respond(result, nil)
}

// answered notes that a request has its answer. It reports false when another member is
// asked by now.
func (r *run) answered(m *member, a *ask) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.to != m {
		return false
	}
	r.asks = slices.DeleteFunc(r.asks, func(other *ask) bool { return other == a })
	return true
}

// recovered is deferred where a listener runs: a panic there ends what it was asked
// alone.
func (r *run) recovered(request *jsonrpc.Call) {
	p := recover()
	if p == nil {
		return
	}
	r.desk.log.Error("panic while droid logged in", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
	if request != nil {
		refuse(request, "droid-acp failed")
	}
}
