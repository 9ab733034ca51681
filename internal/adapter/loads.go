package adapter

import (
	"context"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/turns"
	"droid-acp/internal/wire"
)

// reload is one session/load or session/resume.
type reload struct {
	ctx     context.Context // of the request; it ends when that is cancelled
	request *wire.Response
	session string   // the id that the editor asked for
	ids     []string // of the thread, the newest last
	cwd     string   // that was asked for
	target  string   // where its symbolic links lead
	servers []stream.MCPServer
	notices []string // about these
	wish    wish
	replay  bool
	done    func(protocol.SessionResult, *acp.RequestError) // called once

	turn *turns.Change   // its place among what is asked of the session
	over func(why error) // ends that
	kept bool            // it was cancelled, and the session stays, as others wait for it; set before it is answered
}

// refuse answers a load that did not succeed.
func (r *reload) refuse(err *acp.RequestError) { r.done(protocol.SessionResult{}, err) }

// placed notes the place of a load among what is asked of its session.
func (r *reload) placed(turn *turns.Change) { r.turn = turn }

// began notes that the turn of a load has come, and what ends it.
func (r *reload) began(over func(why error)) { r.over = over }

// keep notes whether the session stays though the load is cancelled.
func (r *reload) keep(kept bool) { r.kept = kept }

// answers says who is told the result.
func (r *reload) answers(done func(protocol.SessionResult, *acp.RequestError)) { r.done = done }

// loads is the load of a session whose turn has come. Prompts and other loads wait for it,
// so that the history comes in one piece.
type loads struct {
	load     *reload           // nil for none; until its response is written
	ended    bool              // its response is being written
	unopened *acp.RequestError // why the session was never opened, nil if it was or still may be
}

// add takes a load whose turn has come.
func (l *loads) add(r *reload) { l.load, l.ended = r, false }

// has reports whether r is the load, and has no answer.
func (l *loads) has(r *reload) bool { return l.load == r && !l.ended }

// end ends the load. It reports false when r is not that one.
func (l *loads) end(r *reload) bool {
	if !l.has(r) {
		return false
	}
	l.ended = true
	return true
}

// answered notes that the response to a load is written.
func (l *loads) answered(r *reload) {
	if l.load == r {
		l.load = nil
	}
}

// open is the load that has no answer, nil for none.
func (l *loads) open() *reload {
	if l.load == nil || l.ended {
		return nil
	}
	return l.load
}

// neverOpened notes that the load which was to open the session failed. Nothing that comes
// later can use the session.
func (l *loads) neverOpened(err *acp.RequestError) { l.unopened = err }

// refusal is why the session takes nothing, nil when it does.
func (l *loads) refusal() *acp.RequestError { return l.unopened }
