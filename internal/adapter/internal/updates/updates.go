// Package updates sends a session's updates and questions to its editor, in order. Its main type is Sender, which holds the state that
// the editor was sent last and the texts that wait for the next prompt; Questions holds the open questions. session.Session uses both with
// its lock.
package updates

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/internal/monitor"
	"droid-acp/internal/render"
	"droid-acp/internal/text/rawjson"
)

// ACPClient is the subset of wire.Conn used to send updates. None of its methods blocks.
type ACPClient interface {
	wire.Asker
	Text(frame wire.TextFrame, text string)
	Notify(method string, params any) error
	Full() <-chan struct{}
	Overfull() <-chan struct{}
}

// Sender sends the updates of one session. Only Session, SendRequest, SendAsync, Requests and the methods of PendingRequest are safe for
// concurrent use. The zero value has no editor: it drops updates, keeps notices, and cannot ask.
type Sender struct {
	editor  ACPClient // nil where there is none
	monitor *monitor.Monitor
	log     *zap.Logger
	known   bool              // the editor knows the session, so it takes updates
	sent    map[string][]byte // the session's state as last sent to the editor, by kind, encoded
	notices []string          // for the next prompt
	texts   []render.Text     // for the next prompt, before that
	cut     bool              // a part of texts was dropped
	chunk   chunk
	before  chunk // another one that was sent before: two messages may alternate

	mu       sync.Mutex
	session  string            // ID by which the editor uses the session; written with the session's lock
	requests []*PendingRequest // without an answer
	holds    bool              // nothing is sent: the response that opens the session comes first
	held     []func()          // what to send then, in order
}

// chunk is the kind of the text that was sent last, with its encoded notification. Most
// pieces continue the message of the one before.
type chunk struct {
	session, kind, message string
	frame                  wire.TextFrame
}

// is reports whether a text of another chunk has the same notification.
func (c *chunk) is(of chunk) bool {
	return c.session == of.session && c.kind == of.kind && c.message == of.message
}

// New makes a Sender for an editor that does not know the session yet. It holds updates and requests back until Release.
func New(editor ACPClient, m *monitor.Monitor, log *zap.Logger) *Sender {
	return &Sender{editor: editor, monitor: m, log: log, holds: true}
}

// Hold holds updates and requests back until Release: apart from what a load shows, nothing about a session is sent before the response
// that opens it.
func (s *Sender) Hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = true
}

// Release sends what was held back, in order. From now on nothing is.
func (s *Sender) Release() {
	s.mu.Lock()
	held := s.held
	s.holds, s.held = false, nil
	s.mu.Unlock()
	for _, send := range held {
		send()
	}
}

// SetID sets the ID by which the editor uses the session.
func (s *Sender) SetID(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = session
}

// Session returns the ID by which the editor uses the session.
func (s *Sender) Session() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session
}

// Opened reports whether the editor knows the session.
func (s *Sender) Opened() bool { return s.known }

// MarkOpened records that the editor knows the session.
func (s *Sender) MarkOpened() { s.known = true }

// Reset forgets what the editor has received: it loads the session again, so it is sent the state once more and finds earlier texts in
// the history.
func (s *Sender) Reset() { s.sent, s.texts, s.cut = nil, nil, false }

// Full returns nil while the editor takes more, else a channel that is closed when it does
// again.
func (s *Sender) Full() <-chan struct{} {
	if s.editor == nil {
		return nil
	}
	return s.editor.Full()
}

// Overfull is Full with the higher limits of jsonrpc.Outbox.Overfull.
func (s *Sender) Overfull() <-chan struct{} {
	if s.editor == nil {
		return nil
	}
	return s.editor.Overfull()
}

// Send sends one update, under the ID by which the editor uses the session. Of the session's
// state it is sent only if it differs from the last one.
func (s *Sender) Send(u protocol.Update) { s.send("", u) }

// SendFor is Send for a session that works for this one.
func (s *Sender) SendFor(session string, u protocol.Update) { s.send(session, u) }

// send sends an update of a session that works for this one, "" for this one.
func (s *Sender) send(other string, u protocol.Update) {
	s.mu.Lock()
	holds := s.holds
	if holds {
		s.held = append(s.held, func() { s.send(other, u) })
	}
	s.mu.Unlock()
	text, isText := u.(render.Text)
	switch {
	case holds:
	case s.editor == nil, other == "" && isState(u.UpdateKind()) && !s.record(u):
	case isText:
		s.text(cmp.Or(other, s.session), text)
	default:
		if err := s.editor.Notify("session/update", protocol.SessionNotification{SessionID: cmp.Or(other, s.session), Update: u}); err != nil {
			s.log.Error("an update could not be encoded", zap.String("kind", u.UpdateKind()), zap.Error(err))
		}
	}
}

// isState reports whether an update describes a state, which holds until the next update of its kind.
func isState(kind string) bool {
	switch kind {
	case "current_mode_update", "config_option_update", "available_commands_update", "usage_update", "session_info_update":
		return true
	}
	return false
}

// MarkSent records that a response has sent the session's state to the editor.
func (s *Sender) MarkSent(updates ...protocol.Update) {
	for _, u := range updates {
		s.record(u)
	}
}

// record records an update of the session's state as sent to the editor, and reports whether it differs from the one before of its kind.
func (s *Sender) record(u protocol.Update) (differs bool) {
	encoded, _ := json.Marshal(u) // one that cannot be encoded differs, and Send logs it
	if differs = encoded == nil || !bytes.Equal(encoded, s.sent[u.UpdateKind()]); differs {
		if s.sent == nil {
			s.sent = make(map[string][]byte)
		}
		s.sent[u.UpdateKind()] = encoded
	}
	return differs
}

// text sends a piece of a message or of a thought.
func (s *Sender) text(session string, t render.Text) {
	of := chunk{session: session, kind: t.UpdateKind(), message: t.MessageID}
	if !s.chunk.is(of) {
		s.chunk, s.before = s.before, s.chunk
	}
	if !s.chunk.is(of) {
		mark := ""
		if t.Notice {
			mark = `,"_meta":{"droid-acp":{"notice":true}}`
		}
		of.frame = wire.TextFrame{
			Before: `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":` + string(rawjson.AppendString(nil, of.session)) +
				`,"update":{"sessionUpdate":"` + of.kind + `","messageId":` + string(rawjson.AppendString(nil, of.message)) + `,"content":{"type":"text","text":`,
			After: `}` + mark + `}}}`,
		}
		s.chunk = of
	}
	s.editor.Text(s.chunk.frame, t.Text)
}

// AddNotices adds notices that wait for the next prompt. One that already waits is not added again.
func (s *Sender) AddNotices(notices ...string) {
	for _, n := range notices {
		if !slices.Contains(s.notices, n) {
			s.notices = append(s.notices, n)
		}
	}
}

// mostUnheard bounds the texts that wait, in bytes.
const mostUnheard = 64 << 10

// mostBroken bounds the rest of a line that is dropped with its beginning, in bytes.
const mostBroken = 1 << 10

// KeepText adds a text of droid's that waits for the next prompt. If there is too much, the oldest is dropped.
func (s *Sender) KeepText(t render.Text) {
	if n := len(s.texts); n > 0 && s.texts[n-1].MessageID == t.MessageID && s.texts[n-1].Thought == t.Thought {
		s.texts[n-1].Text += t.Text
	} else {
		s.texts = append(s.texts, t)
	}
	size := 0
	for _, waits := range s.texts {
		size += len(waits.Text)
	}
	if last := &s.texts[len(s.texts)-1]; len(last.Text) > mostUnheard {
		size -= len(last.Text)
		last.Text = strings.ToValidUTF8(last.Text[len(last.Text)-mostUnheard:], "")
		if end := strings.IndexByte(last.Text, '\n'); 0 <= end && end < mostBroken {
			last.Text = last.Text[end+1:]
		}
		size += len(last.Text)
		s.cut = true
	}
	for len(s.texts) > 1 && size > mostUnheard {
		size -= len(s.texts[0].Text)
		s.texts, s.cut = s.texts[1:], true
	}
}

// TakeTexts removes and returns the texts that wait, for the prompt that begins. cut reports whether the oldest were dropped.
func (s *Sender) TakeTexts() (kept []render.Text, cut bool) {
	kept, cut = s.texts, s.cut
	s.texts, s.cut = nil, false
	return kept, cut
}

// TakeNotices removes and returns the notices that wait, for the prompt that begins.
func (s *Sender) TakeNotices() []string {
	kept := s.notices
	s.notices = nil
	return kept
}
