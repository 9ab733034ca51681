package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/rawjson"
)

// repeatable are the requests that may be sent again: they only read, or the server recognizes them. One that sets a value may not: another
// window may have set it since.
var repeatable = []string{"session/prompt", "session/list", "session/status", "session/options", "providers/list"}

// refuseUnknown answers the requests that may or may not have taken effect with an error.
func (r *Reconnector) refuseUnknown() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = slices.DeleteFunc(r.pending, func(p *pendingMessage) bool {
		if p.own != nil || !p.sent || p.refused || slices.Contains(repeatable, p.method) {
			return false
		}
		r.forget(p)
		r.put(jsonrpc.EncodeError(p.id, jsonrpc.InternalError("outcome_unknown", "The link to the server was cut before the answer to "+p.method+" came, so it is not known whether it was done. Look before you try again.")))
		return true
	})
}

// resume restores the state of the last connection on a new one, and makes that the current one.
func (r *Reconnector) resume(ctx context.Context, conn MessageConn) error {
	const id = `"droid-acp/initialize"`
	h, _ := jsonrpc.ReadHead(r.initialize)
	if err := conn.Write(ctx, h.WithID(r.initialize, id)); err != nil {
		return err
	}
	for answered := false; !answered; {
		line, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		h, _ := jsonrpc.ReadHead(line)
		if answered = h.Method == "" && string(h.ID) == id; answered && h.Result == 0 { // anything else is about no session
			return fmt.Errorf("the server does not take this client again: %s", rawjson.Unquote(rawjson.Field(rawjson.Field(line, "error"), "message")))
		}
	}
	for _, line := range r.lost() {
		if err := conn.Write(ctx, bytes.TrimSpace(line)); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err // Close was called
	}
	r.setLocked(conn, nil)
	if len(r.sessions) == 0 {
		r.withdrawQuestions()
	}
	return nil
}

// lost returns the messages that restore the state of the last connection.
func (r *Reconnector) lost() (lines [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = slices.DeleteFunc(r.pending, func(p *pendingMessage) bool { return p.own != nil })
	repeated := slices.Clone(r.pending)
	if r.provider != nil {
		h, _ := jsonrpc.ReadHead(r.provider)
		lines = append(lines, r.ask(h.WithID(r.provider, fmt.Sprintf(`"droid-acp/provider/%d"`, r.links)), func([]byte) {}))
	}
	for id, s := range r.sessions {
		lines = append(lines, r.load(id, s))
	}
	for _, p := range repeated {
		if p.refused && r.sessions[p.session] != nil {
			continue // see sendRefused
		}
		p.refused = false
		if p.sent {
			lines = append(lines, p.line)
		}
		if p.sent && p.cancelled != nil {
			lines = append(lines, p.cancelled)
		}
	}
	return lines
}

// ask records a request that this end makes, and returns it.
func (r *Reconnector) ask(line []byte, done func(result []byte)) []byte {
	h, _ := jsonrpc.ReadHead(line)
	r.pending = append(r.pending, &pendingMessage{id: bytes.Clone(h.ID), own: done, sent: true})
	return line
}

// request returns a new request about a session.
func (r *Reconnector) request(method, session string, s *openSession, after json.RawMessage, done func(result []byte)) []byte {
	open := map[string]any{}
	for name, value := range s.params {
		open[name] = value
	}
	if after != nil {
		open["_meta"] = map[string]any{"droid-acp": map[string]any{"after": after}}
	}
	id, _ := json.Marshal(fmt.Sprintf("droid-acp/%s/%s/%d", method, session, r.links))
	line, _ := jsonrpc.EncodeCall(id, method, open) // raw JSON can be encoded
	return r.ask(line, done)
}

// load returns the request for the messages of a session that the editor has missed.
func (r *Reconnector) load(id string, s *openSession) []byte {
	at := s.at
	if at == nil {
		at = json.RawMessage("{}") // it is refused
	}
	return r.request("session/load", id, s, at, func(result []byte) {
		if result == nil {
			r.failLoad(id, s)
		} else {
			r.advance(id, result)
		}
		r.sendRefused(id)
	})
}

// sendRefused sends the requests about a session that a replaced server has refused.
func (r *Reconnector) sendRefused(session string) {
	for _, p := range r.pending {
		if p.refused && p.session == session {
			p.refused = false
			r.later = append(r.later, p.line)
			if p.cancelled != nil {
				r.later = append(r.later, p.cancelled)
			}
		}
	}
}

// withdrawQuestions withdraws from the editor the questions that the server has not asked again, which it does before it answers a load.
func (r *Reconnector) withdrawQuestions() {
	for key, q := range r.questions {
		if q.link == r.links {
			continue
		}
		delete(r.questions, key)
		if line, err := jsonrpc.EncodeCall(nil, "$/cancel_request", map[string]json.RawMessage{"requestId": q.id}); err == nil && q.answer == nil {
			r.put(line)
		}
	}
}

// failLoad handles a server that cannot send what the editor has missed: it answers the session's prompts, whose outcome is unknown, and
// opens the session again without its history.
func (r *Reconnector) failLoad(id string, s *openSession) {
	for i, p := range r.pending {
		if p.session != id || p.own != nil || !p.sent || p.refused {
			continue
		}
		r.put(jsonrpc.EncodeError(p.id, jsonrpc.InternalError("outcome_unknown", "The link to the server was cut, and meanwhile the session was closed or loaded anew there, so it is not known how this ended. Open the session again to see it.")))
		r.pending[i] = &pendingMessage{id: p.id, own: func([]byte) {}, sent: true} // its answer is dropped
	}
	notice := "What was said in this session while the link to the server was cut is not all shown here. Open the session again to see it."
	line := r.request("session/resume", id, s, nil, func(result []byte) {
		if result == nil {
			delete(r.sessions, id)
			notice = "This session is no longer open at the server, which the link was cut from. Open it again to go on."
		} else {
			r.advance(id, result)
		}
		if line, err := jsonrpc.EncodeCall(nil, "session/update", map[string]any{"sessionId": id, "update": map[string]any{
			"sessionUpdate": "agent_message_chunk", "content": map[string]string{"type": "text", "text": "\n\n" + notice + "\n\n"}, "_meta": map[string]any{"droid-acp": map[string]bool{"notice": true}},
		}}); err == nil {
			r.put(line)
		}
	})
	r.later = append(r.later, bytes.TrimSpace(line))
}
