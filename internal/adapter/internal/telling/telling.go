// Package telling sends a session's updates and questions to its editor, in order. Its main type is Updates: it holds the last state that
// the editor was sent, the texts that wait for the next prompt, and the open questions. session.Session uses it with its lock.
package telling

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
}

// Updates sends the updates of one session. It is not safe for concurrent use, but for Session, SendRequest, SendAsync, Requests and the methods
// of PendingRequest. The zero value has no editor: it drops updates, keeps notices, and cannot ask.
type Updates struct {
	editor  ACPClient // nil where there is none
	monitor *monitor.Monitor
	log     *zap.Logger
	known   bool              // the editor knows the session, so it takes updates
	sent    map[string][]byte // the session's state as last sent to the editor, by kind, encoded
	notices []string          // for the next prompt
	texts   []render.Text     // for the next prompt, before that
	cut     bool              // something of unheard was left out
	chunk   chunk
	before  chunk // another one that was sent before: two messages may alternate

	mu       sync.Mutex
	session  string            // by which the editor uses the session; who has the session's lock writes it
	requests []*PendingRequest // that have no answer
	holds    bool              // nothing leaves: the response that opens the session comes first
	held     []func()          // what is to leave then, in order
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

// New makes the way to an editor that does not know the session yet. It holds updates and requests until Release.
func New(editor ACPClient, m *monitor.Monitor, log *zap.Logger) *Updates {
	return &Updates{editor: editor, monitor: m, log: log, holds: true}
}

// Hold keeps updates and requests from the editor until Release: nothing about a session leaves before the response that
// opens it, but for what a load shows.
func (w *Updates) Hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holds = true
}

// Release sends what was held, in order, and has everything leave at once from now on.
func (w *Updates) Release() {
	w.mu.Lock()
	held := w.held
	w.holds, w.held = false, nil
	w.mu.Unlock()
	for _, send := range held {
		send()
	}
}

// SetID notes by which id the editor uses the session.
func (w *Updates) SetID(session string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.session = session
}

// Session is that id.
func (w *Updates) Session() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session
}

// Opened reports whether the editor knows the session.
func (w *Updates) Opened() bool { return w.known }

// MarkOpened notes that the editor knows the session from now on.
func (w *Updates) MarkOpened() { w.known = true }

// Reset forgets what the editor has received: it loads the session again, so it is sent the state once more and finds earlier texts in
// the history.
func (w *Updates) Reset() { w.sent, w.texts, w.cut = nil, nil, false }

// Full returns nil while the editor takes more, else a channel that is closed when it does
// again.
func (w *Updates) Full() <-chan struct{} {
	if w.editor == nil {
		return nil
	}
	return w.editor.Full()
}

// Send sends one update, under the ID by which the editor uses the session. Of the session's
// state it is sent only if it differs from the last one.
func (w *Updates) Send(u protocol.Update) { w.send("", u) }

// SendFor is Send for a session that works for this one.
func (w *Updates) SendFor(session string, u protocol.Update) { w.send(session, u) }

// send sends an update of a session that works for this one, "" for this one.
func (w *Updates) send(other string, u protocol.Update) {
	w.mu.Lock()
	holds := w.holds
	if holds {
		w.held = append(w.held, func() { w.send(other, u) })
	}
	w.mu.Unlock()
	text, isText := u.(render.Text)
	switch {
	case holds:
	case w.editor == nil, other == "" && isState(u.UpdateKind()) && !w.news(u):
	case isText:
		w.text(cmp.Or(other, w.session), text)
	default:
		if err := w.editor.Notify("session/update", protocol.SessionNotification{SessionID: cmp.Or(other, w.session), Update: u}); err != nil {
			w.log.Error("an update could not be encoded", zap.String("kind", u.UpdateKind()), zap.Error(err))
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
func (w *Updates) MarkSent(updates ...protocol.Update) {
	for _, u := range updates {
		w.news(u)
	}
}

// news records that the session's state is sent to the editor. It reports whether that
// differs from the last one.
func (w *Updates) news(u protocol.Update) (news bool) {
	encoded, _ := json.Marshal(u) // one that cannot be encoded is news, and Send logs it
	if news = encoded == nil || !bytes.Equal(encoded, w.sent[u.UpdateKind()]); news {
		if w.sent == nil {
			w.sent = make(map[string][]byte)
		}
		w.sent[u.UpdateKind()] = encoded
	}
	return news
}

// text sends a piece of a message or of a thought.
func (w *Updates) text(session string, t render.Text) {
	of := chunk{session: session, kind: t.UpdateKind(), message: t.MessageID}
	if !w.chunk.is(of) {
		w.chunk, w.before = w.before, w.chunk
	}
	if !w.chunk.is(of) {
		mark := ""
		if t.Notice {
			mark = `,"_meta":{"droid-acp":{"notice":true}}`
		}
		of.frame = wire.TextFrame{
			Before: `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":` + string(rawjson.AppendString(nil, of.session)) +
				`,"update":{"sessionUpdate":"` + of.kind + `","messageId":` + string(rawjson.AppendString(nil, of.message)) + `,"content":{"type":"text","text":`,
			After: `}` + mark + `}}}`,
		}
		w.chunk = of
	}
	w.editor.Text(w.chunk.frame, t.Text)
}

// AddNotices has notices wait for the next prompt. What waits already does not wait twice.
func (w *Updates) AddNotices(notices ...string) {
	for _, n := range notices {
		if !slices.Contains(w.notices, n) {
			w.notices = append(w.notices, n)
		}
	}
}

// mostUnheard bounds what waits of droid's words, in bytes.
const mostUnheard = 64 << 10

// mostBroken bounds the rest of a line that is dropped with its beginning, in bytes.
const mostBroken = 1 << 10

// KeepText has words of droid's wait for the next prompt. Where they are too many, the oldest are dropped.
func (w *Updates) KeepText(t render.Text) {
	if n := len(w.texts); n > 0 && w.texts[n-1].MessageID == t.MessageID && w.texts[n-1].Thought == t.Thought {
		w.texts[n-1].Text += t.Text
	} else {
		w.texts = append(w.texts, t)
	}
	size := 0
	for _, waits := range w.texts {
		size += len(waits.Text)
	}
	if last := &w.texts[len(w.texts)-1]; len(last.Text) > mostUnheard {
		size -= len(last.Text)
		last.Text = strings.ToValidUTF8(last.Text[len(last.Text)-mostUnheard:], "")
		if end := strings.IndexByte(last.Text, '\n'); 0 <= end && end < mostBroken {
			last.Text = last.Text[end+1:]
		}
		size += len(last.Text)
		w.cut = true
	}
	for len(w.texts) > 1 && size > mostUnheard {
		size -= len(w.texts[0].Text)
		w.texts, w.cut = w.texts[1:], true
	}
}

// TakeTexts hands out what waits of droid's words, for the prompt that begins. cut reports whether the beginning of it was left
// out, as it was too much.
func (w *Updates) TakeTexts() (kept []render.Text, cut bool) {
	kept, cut = w.texts, w.cut
	w.texts, w.cut = nil, false
	return kept, cut
}

// TakeNotices hands out what waits, for the prompt that begins.
func (w *Updates) TakeNotices() []string {
	kept := w.notices
	w.notices = nil
	return kept
}
