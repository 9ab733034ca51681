package adapter

import (
	"context"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/protocol"
	"droid-acp/internal/wire"
)

// reload is one session/load or session/resume.
type reload struct {
	ctx     context.Context // of the request; it ends when that is cancelled
	request *wire.Response
	params  sessionParams
	ids     []string // of the thread, the newest last
	replay  bool
	done    func(protocol.SessionResult, *acp.RequestError) // called once
}

// refuse answers a load that did not succeed.
func (r *reload) refuse(err *acp.RequestError) { r.done(protocol.SessionResult{}, err) }

// loads are the loads of a session. They run one after the other, and prompts wait
// for them, so that the history comes in one piece.
type loads struct {
	queue     []*reload
	running   bool              // the first one of the queue is under way
	answering bool              // the response to the one before is being written
	unopened  *acp.RequestError // why the session was never opened, nil if it was or still may be
}

// add lets a load wait for its turn.
func (l *loads) add(r *reload) { l.queue = append(l.queue, r) }

// pending reports whether a load runs or waits.
func (l *loads) pending() bool { return len(l.queue) > 0 }

// begin takes up the load that comes next, nil when there is none or one runs.
func (l *loads) begin() *reload {
	if l.running || len(l.queue) == 0 {
		return nil
	}
	l.running = true
	return l.queue[0]
}

// runs reports whether r is the load that runs.
func (l *loads) runs(r *reload) bool { return l.running && l.queue[0] == r }

// end ends the load that runs. It reports false when r is not that one.
func (l *loads) end(r *reload) bool {
	if !l.runs(r) {
		return false
	}
	l.queue, l.running, l.answering = l.queue[1:], false, true
	return true
}

// answered notes that the response to the load that ended is written.
func (l *loads) answered() { l.answering = false }

// current is the load that runs, nil for none.
func (l *loads) current() *reload {
	if !l.running {
		return nil
	}
	return l.queue[0]
}

// refuse answers the loads that have not begun, and forgets them. It returns how many
// there were.
func (l *loads) refuse(err *acp.RequestError) int {
	waiting := l.queue
	if l.running {
		waiting = waiting[1:]
		l.queue = l.queue[:1]
	} else {
		l.queue = nil
	}
	for _, r := range waiting {
		r.refuse(err)
	}
	return len(waiting)
}

// neverOpened notes that the load which was to open the session failed, and
// refuses those behind it. Nothing that comes later can use the session.
func (l *loads) neverOpened(err *acp.RequestError) {
	l.unopened = err
	l.refuse(err)
}

// refusal is why the session takes nothing, nil when it does.
func (l *loads) refusal() *acp.RequestError { return l.unopened }
