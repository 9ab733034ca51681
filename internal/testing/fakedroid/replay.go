package fakedroid

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"droid-acp/internal/testing/fixture"
)

// Replay plays a recorded conversation: it writes what droid wrote, as fast as the client reads, and waits where the client wrote. A line
// of the client matches a request of the same method, or an answer to the recorded request; request IDs are translated, text and params are
// not compared. A request that occurs later in the recording is kept until then, any other is answered as by droid. If the recorded process
// is killed or exits before its stdin was closed, the script ends with a *Death whose code is 137.
func Replay(steps []fixture.Step) Script {
	return func(d *Droid) error {
		r := &replay{d: d, steps: steps, ids: make(map[string]string)}
		for i := range steps {
			if err := r.step(i); err != nil {
				if errors.Is(err, io.EOF) {
					return err
				}
				return fmt.Errorf("replay of step %d: %w", i+1, err)
			}
		}
		return nil
	}
}

// replay is the state of one Replay.
type replay struct {
	d     *Droid
	steps []fixture.Step
	ids   map[string]string // real ID by recorded ID of a client's request
	kept  []*Message        // messages of the client for later steps

	closed bool // the client has closed droid's stdin
}

func (r *replay) step(i int) error {
	s := r.steps[i]
	switch s.Dir {
	case fixture.FromDroid:
		return r.speak(s.Msg)
	case fixture.ToDroid:
		return r.await(i)
	case fixture.Stderr:
		return r.d.Stderr(s.Note + "\n")
	}
	killed := strings.Contains(s.Note, "SIGKILL")
	switch {
	case s.StdinClosed() || strings.Contains(s.Note, "closing stdin") || killed && strings.Contains(s.Note, "after stdin end"):
		return r.awaitEOF(i)
	case (killed || s.Exited()) && r.closed:
		return io.EOF
	case killed || s.Exited():
		return &Death{Code: 137}
	}
	return nil
}

// speak writes a recorded line with the client's real IDs.
func (r *replay) speak(msg json.RawMessage) error {
	var m map[string]any
	if json.Unmarshal(msg, &m) != nil {
		return r.d.Line(msg)
	}
	changed := false
	if id, ok := m["id"].(string); ok && m["method"] == nil {
		changed = r.translate(m, "id", id)
	}
	if params, ok := m["params"].(map[string]any); ok {
		if n, ok := params["notification"].(map[string]any); ok {
			if id, ok := n["requestId"].(string); ok {
				changed = r.translate(n, "requestId", id) || changed
			}
		}
	}
	if !changed {
		return r.d.Line(msg) // unchanged
	}
	return r.d.Send(m)
}

func (r *replay) translate(m map[string]any, key, recorded string) bool {
	id, ok := r.ids[recorded]
	if ok {
		m[key] = id
	}
	return ok
}

// await waits for the message that matches recorded line i.
func (r *replay) await(i int) error {
	want := decodeLine(r.steps[i].Msg)
	if want.invalid != "" || want.Type == "notification" {
		return nil // the recording sent droid an invalid line; a client never does
	}
	for {
		m, err := r.take(want)
		if err != nil {
			return err
		}
		if m != nil {
			r.ids[want.ID] = m.ID
			return nil
		}
		if err := r.receive(i); err != nil {
			return fmt.Errorf("waiting for %s: %w", describe(want), err)
		}
	}
}

func describe(m *Message) string {
	if m.isResponse() {
		return "an answer to " + m.ID
	}
	return m.Method
}

// take removes the first kept message that matches want.
func (r *replay) take(want *Message) (*Message, error) {
	for i, m := range r.kept {
		fits := m.Method == want.Method && !m.isResponse() && !want.isResponse() ||
			m.isResponse() && want.isResponse() && m.ID == want.ID
		if fits {
			r.kept = append(r.kept[:i], r.kept[i+1:]...)
			return m, nil
		}
	}
	return nil, nil
}

// receive keeps one message of the client for a later step, or answers it.
func (r *replay) receive(i int) error {
	m, _, err := r.d.receive(-1, nil)
	if err != nil {
		return err
	}
	if m.isResponse() || r.expects(i, m.Method) {
		r.kept = append(r.kept, m)
		return nil
	}
	if m.invalid == "" && knownMethod(m.Method) {
		return r.d.Reply(m.ID, Fields{}) // it is not in the recording and has no effect
	}
	return r.d.serve(m)
}

// expects reports whether a step from i on waits for method.
func (r *replay) expects(i int, method string) bool {
	for _, s := range r.steps[i:] {
		if s.Dir == fixture.ToDroid && decodeLine(s.Msg).Method == method {
			return true
		}
	}
	return false
}

// awaitEOF waits until the client closes droid's stdin; the recorded lines after that are droid's last ones.
func (r *replay) awaitEOF(i int) error {
	for !r.closed {
		err := r.receive(i)
		if errors.Is(err, io.EOF) {
			r.closed = true
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
