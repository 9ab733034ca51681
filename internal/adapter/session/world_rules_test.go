//go:build linux

package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"weak"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/stream"
)

// The rules of a world, whatever happens at the same time:
//
//   - each request has one answer, which never reports a panic, and so has each question of droid, which is a yes only if a user said so
//   - no question stays open after its subject is gone
//   - a prompt runs in no mode that is more permissive than the last one requested
//   - a load does not make an open session more permissive either
//   - the output of a prompt after a load comes after the answer to the load
//   - a stricter mode takes effect soon
//   - files whose trust a user revoked do not run for a later prompt
//   - the end of a command in the background is shown
//   - a prompt reaches the thread that is shown
//   - a rewind is complete when its command is answered
//   - each call that is shown while it runs ends
//   - a window has a session in one droid at a time
//   - a title that was confirmed stays
//   - the model's output is shown once and in order, and completely if its prompt ended normally
//   - a file has each edit that droid believes it made, no edit twice, and the user's text; the editor shows the content of the disk
//   - an agent whose sessions are closed has as many goroutines as before them, and keeps none of the sessions
//   - no process is left at the end; synctest checks goroutines

// hear handles what both windows were sent.
func (w *world) hear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hearNow()
}

func (w *world) hearNow() {
	for _, win := range w.wins {
		if win == nil {
			continue
		}
		win.editor.mu.Lock()
		lines := slices.Clone(win.lines[win.heard:])
		win.heard = len(win.lines)
		win.editor.mu.Unlock()
		for _, m := range lines {
			win.hears(m)
		}
	}
}

func (win *window) hears(m wireMessage) {
	if line, _ := json.Marshal(m); !ownUpdate(m) {
		win.w.note(fmt.Sprint("window ", win.n), "hears", line)
	}
	switch m.Method {
	case "session/update":
		win.isTold(m.Params)
	case "session/request_permission":
		var p permission
		_ = json.Unmarshal(m.Params, &p)
		q := &questionOf{session: p.SessionID, title: string(p.ToolCall.Title)}
		for _, o := range p.Options {
			q.options = append(q.options, o.OptionID)
		}
		win.asked[string(m.ID)] = q
		win.order = append(win.order, string(m.ID))
	case "$/cancel_request":
		var p struct{ RequestID json.RawMessage }
		_ = json.Unmarshal(m.Params, &p)
		win.forget(string(p.RequestID))
	case "":
		for _, a := range win.w.asks {
			if a.win == win && a.id == string(m.ID) {
				win.isAnswered(a, m)
				return
			}
		}
	}
}

func (win *window) forget(question string) {
	delete(win.asked, question)
	win.order = slices.DeleteFunc(win.order, func(id string) bool { return id == question })
}

var modelWord = regexp.MustCompile(`w(\d+)\.`)

// isTold takes an update.
func (win *window) isTold(params json.RawMessage) {
	var p struct {
		SessionID string
		Update    struct {
			SessionUpdate string
			CurrentModeID stream.Mode
			Content       json.RawMessage
			ToolCallID    string
			Status        string
		}
	}
	_ = json.Unmarshal(params, &p)
	var content struct{ Text string }
	_ = json.Unmarshal(p.Update.Content, &content)
	t, w := win.thread(p.SessionID), win.w
	load := w.pending(win, p.SessionID, "session/load")
	switch p.Update.SessionUpdate {
	case "user_message_chunk":
		if m := promptNumber.FindString(content.Text); m != "" && load != nil {
			load.replayed = append(load.replayed, m)
		}
		return
	case "current_mode_update":
		if !t.open { // it was opened for what waits behind a load that was cancelled
			t.bound = p.Update.CurrentModeID
		}
		return
	case "tool_call", "tool_call_update":
		if id := [2]string{p.SessionID, p.Update.ToolCallID}; load != nil {
			delete(win.calls, id) // what has no result in a history may go on in another window
		} else if p.Update.Status != "" {
			win.calls[id] = p.Update.Status
		}
		return
	case "agent_message_chunk", "agent_thought_chunk":
	default:
		return
	}
	t.shown += content.Text
	for _, at := range modelWord.FindAllStringSubmatchIndex(t.shown[t.parsed:], -1) {
		n, _ := strconv.Atoi(t.shown[t.parsed+at[2] : t.parsed+at[3]])
		if len(t.words) > 0 && n <= t.words[len(t.words)-1] {
			again := slices.Contains(t.words, n)
			if load == nil || load.restarted && (again || !w.starts[n]) { // of two windows the turns are stored as they came
				w.breaks("a word is shown twice or late: window %d was shown w%d behind w%d", win.n, n, t.words[len(t.words)-1])
			} else if !load.restarted {
				load.restarted, t.words = true, nil
			}
		}
		t.words = append(t.words, n)
		if of := w.speaks[n]; load != nil && of != nil && of.win == win && of.session == p.SessionID && of.n > load.n {
			w.breaks("a prompt overtakes a load: w%d, which was said for p%d, came before the answer to %d", n, of.n, load.n)
		}
	}
	if all := modelWord.FindAllStringIndex(t.shown[t.parsed:], -1); all != nil {
		t.parsed += all[len(all)-1][1]
	}
	for _, words := range []string{"droid finished a command after you had cancelled it.", "droid finished a command after its process had ended.",
		"Compacted: ", "This thread is back at the point", "this thread goes on in what became of it"} {
		if strings.Contains(content.Text, words) {
			from := t.at
			t.at, t.replayed = "", nil // unless it is known where it was
			for _, made := range w.made {
				if from != "" && made.from == from && made.win == win {
					t.at = made.to
				}
			}
		}
	}
}

// pending is the first request of this method about a session that is not answered.
func (w *world) pending(win *window, session, method string) *request {
	for _, a := range w.asks {
		if a.win == win && a.session == session && a.method == method && !a.answered {
			return a
		}
	}
	return nil
}

// isAnswered takes an answer.
func (win *window) isAnswered(a *request, m wireMessage) {
	w, t := win.w, win.thread(a.session)
	if a.answered {
		w.breaks("a request has two answers: %s %s", a.method, a.text)
	}
	a.answered = true
	if m.Error != nil && strings.Contains(m.Error.Message, "droid-acp failed") {
		w.breaks("an answer tells of a panic: %s %s", a.method, a.text)
	}
	var result struct {
		SessionID, StopReason, Outcome string
		Modes                          struct{ CurrentModeID stream.Mode }
	}
	_ = json.Unmarshal(m.Result, &result)
	switch a.method {
	case "session/new", "session/fork":
		if m.Error == nil {
			w.ids = append(w.ids, result.SessionID)
			n := win.thread(result.SessionID)
			n.open, n.at, n.bound = true, result.SessionID, result.Modes.CurrentModeID
		}
	case "session/load", "session/resume":
		if m.Error == nil {
			before := t.wanted(win.muted, a.n)
			t.at, t.replayed, t.bound = "", a.replayed, result.Modes.CurrentModeID
			if t.open && !t.bound.AsksAsMuchAs(before) {
				t.bound = before // a droid that does not take it back gets no prompt
			}
			t.open = a.n > t.closed
			t.modes = slices.DeleteFunc(t.modes, func(m *modeAsked) bool { return m.n < a.n })
		}
	}
	if result.Outcome == "startedNewTurn" {
		t.steered = time.Now()
	}
	if a.mode != nil && (m.Error != nil || a.text != "") {
		for _, b := range w.asks[a.n:] {
			if b.win == win && time.Since(b.at) < time.Millisecond {
				b.bound = stream.ModeAutoHigh // it was sent when the answer was
			}
		}
	}
	if a.mode != nil {
		a.mode.failed = m.Error != nil || a.text != "" && !strings.Contains(t.shown[a.shown:], "Mode: "+a.mode.mode.Title()+".")
		if took := time.Since(a.at); took > time.Minute && a.strict && !w.faulty {
			w.breaks("a stricter mode waits: %s of window %d for %v", a.mode.mode, win.n, took)
		}
	}
	others := func(b *request) bool {
		return b.win == win && b != a && strings.HasPrefix(b.text, "/rewind") && (b.n > a.n || !b.answered)
	}
	if strings.HasPrefix(a.text, "/rewind") && !slices.ContainsFunc(w.asks, others) {
		for _, p := range w.droids {
			if p.win == win && p.rewinds != "" && p.rewinds == t.at && !p.ended() && !p.crashed {
				w.breaks("a rewind goes on behind its answer: of window %d", win.n)
			}
		}
	}
	if a.text == "/trust no" && m.Error == nil && result.StopReason == "end_turn" {
		yes := func(b *request) bool { return b.text == "/trust yes" && (b.n > a.n || !b.answered) } // one that waits counts later
		if !slices.ContainsFunc(w.asks, yes) && time.Since(w.allows) > 30*time.Second {
			w.trust("no")
		}
	}
	if title := w.titles[a.session]; title != nil && a.title != "" {
		title.pending--
		confirmed := m.Error == nil && (a.text == "" || strings.Contains(t.shown[a.shown:], "is called “"+a.title+"”"))
		title.unsure = title.together || !confirmed
		title.together = title.together && title.pending > 0
		title.want = a.title
	}
	if a.to > 0 && result.StopReason == "end_turn" {
		for n := a.from; n < a.to; n++ {
			if !slices.Contains(t.words, n) {
				w.breaks("a word is not shown: w%d of window %d", n, win.n)
				break
			}
		}
	}
}

// names notes that a request is to give its session a title.
func (w *world) names(a *request, title string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a.title = title
	of := w.titles[a.session]
	if of == nil {
		of = &titleOf{win: a.win}
		w.titles[a.session] = of
	}
	of.together = of.together || of.pending > 0
	of.pending++
	if of.win != a.win {
		of.win = nil
	}
}

// trust records the user's decision about the project: a yes when it is sent, a no when it is answered. If both are pending, it is unknown
// which applies.
func (w *world) trust(word string) {
	w.distrusts = word == "no"
	if !w.distrusts {
		w.allows = time.Now()
		for _, a := range w.asks {
			a.distrusted = false // it may run before that
		}
	}
}

// wanted returns the most permissive mode in which a prompt that is sent as this request may run. A change of the mode may have failed, and
// a muted window has not learned of it.
func (t *threadOf) wanted(muted bool, before int) stream.Mode {
	mode := t.bound
	for _, m := range t.modes {
		if m.n >= before {
			break
		}
		if m.failed || muted {
			mode = freer(mode, m.mode)
		} else {
			mode = m.mode
		}
	}
	return mode
}

func freer(a, b stream.Mode) stream.Mode {
	if a.AsksAsMuchAs(b) {
		return b
	}
	return a
}

// begins is called when droid has a prompt, and returns what kind it is.
func (p *worldDroid) begins(text string) (kind string) {
	m := promptNumber.FindStringSubmatch(text)
	if m == nil {
		p.w.mu.Lock()
		defer p.w.mu.Unlock()
		p.w.breaks("droid got what nobody sent: %s", text)
		return "says"
	}
	time.Sleep(time.Nanosecond) // what was written before is heard now
	w := p.w
	a := p.asking(text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hearNow()
	t := a.win.thread(a.session)
	bound := a.bound
	for _, m := range t.modes {
		if m.n > a.n {
			bound = freer(bound, m.mode)
		}
	}
	if a.win.muted {
		bound = stream.ModeAutoHigh // earlier updates were not seen: that a mode failed, for example
	}
	if mode := stream.Mode(p.d.Mode()); !mode.AsksAsMuchAs(bound) && a.method == "session/prompt" {
		w.breaks("a prompt runs too freely: p%d in %s, which was to run in %s", a.n, mode, bound)
	}
	if a.distrusted && a.method == "session/prompt" && w.brings && p.client.Excluded() == nil {
		w.breaks("a prompt runs what the project brings, after /trust no: p%d", a.n)
	}
	at := p.d.Session()
	if a.win.muted {
		t.at, t.replayed = "", nil // earlier updates were not seen
		return m[2]
	}
	if t.at == "" {
		var has []string
		for _, text := range w.store.Prompts(at) {
			has = append(has, promptNumber.FindString(text))
		}
		if len(has) < len(t.replayed) || !slices.Equal(has[:len(t.replayed)], t.replayed) {
			w.breaks("a prompt reaches another thread: p%d behind %v, where %v is shown", a.n, has, t.replayed)
		}
	} else if t.at != at {
		w.breaks("a prompt reaches another thread: p%d got to %s, and its thread is in %s", a.n, at, t.at)
	}
	t.at = at
	if path := filepath.Join(w.root, "-p", at+".jsonl"); !exists(path) {
		w.file(at, "")
	}
	return m[2]
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// atRest checks for questions that nobody waits for.
func (w *world) atRest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hearNow()
	for _, win := range w.wins {
		waits := 0
		for _, p := range w.droids {
			if p.win == win && !p.ended() {
				for _, ask := range p.asked {
					if ask.isOpen() {
						waits++
					}
				}
			}
		}
		for _, q := range win.asked {
			asks := w.pending(win, q.session, "session/prompt") != nil
			steered := time.Since(win.thread(q.session).steered) < 15*time.Minute // a turn without a request
			if !asks && !steered && waits == 0 && !win.muted {
				w.breaks("a question stays: %q of window %d", q.title, win.n)
			}
		}
	}
}

func (p *worldDroid) ended() bool {
	select {
	case <-p.client.Exited():
		return true
	default:
		return false
	}
}

// forgets closes all sessions. Afterwards their agents must have as many goroutines as at first, and no session.
func (w *world) forgets() {
	var open []weak.Pointer[session.Session]
	for _, win := range w.wins {
		for _, s := range win.agent.Sessions.List() {
			open = append(open, weak.Make(s))
		}
		for _, id := range w.ids {
			win.does("session/close", id, "", nil)
		}
	}
	w.sleep(2 * session.TrustTime) // longer than any timer
	runtime.GC()
	for _, s := range open {
		if s.Value() != nil {
			w.breaks("a closed session is kept: one of %d", len(open))
		}
	}
	if now := goroutines(); now > w.goroutines {
		w.breaks("a goroutine is left: %d run, and %d did before there was a session", now, w.goroutines)
	}
}

// waits lists what is waited for, and by whom, in the sessions of a window.
func (win *window) waits() (lines []string) {
	for _, s := range win.agent.Sessions.List() {
		if failed := s.Enter(nil); failed == nil {
			is := s.State()
			lines = append(append(lines, is.SessionID+":"), is.Waits...)
			s.Exit(&failed)
		}
	}
	return lines
}

// finish ends a world: the users answer their questions, then cancel, then close their windows.
func (w *world) finish() {
	w.sleep(30 * time.Second) // faults are over
	open := func() (open []*request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.hearNow()
		for _, a := range w.asks {
			if !a.answered {
				open = append(open, a)
			}
		}
		return open
	}
	for n := 0; len(open()) > 0 && n < 30; n++ {
		for _, win := range w.wins {
			win.answers(1)
			win.answers(1)
		}
		w.sleep(10 * time.Second)
	}
	if left := open(); len(left) > 0 {
		w.breaks("a request waits for a cancel: %s %s %s\n%s", left[0].method, left[0].session, left[0].text, strings.Join(left[0].win.waits(), "\n"))
		for _, win := range w.wins {
			for _, id := range w.ids {
				win.notify("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, id))
			}
		}
		w.sleep(2 * time.Minute)
	}
	for _, a := range open() {
		w.breaks("a request has no answer: %s %s %s", a.method, a.session, a.text)
	}
	for range 10 { // a question may wait behind another one
		for _, win := range w.wins {
			win.answers(1)
		}
		w.sleep(5 * time.Second)
	}
	w.sleep(16 * time.Minute)
	w.atRest()
	for _, p := range w.lost {
		a := p.win.prompts("session/prompt", p.session, "p%d says") // what waits for the next prompt
		for n := 0; n < 30 && slices.Contains(open(), a); n++ {
			w.sleep(5 * time.Second)
			p.win.answers(1)
		}
		w.hear()
		if p.of != nil && !strings.Contains(p.of.shown, "ran in the background was ended") {
			w.breaks("a command in the background ended with its droid, and nobody was told: of window %d", p.win.n)
		}
	}
	w.mu.Lock()
	for _, p := range w.droids {
		for _, ask := range p.asked {
			if ask.isOpen() && !p.ended() {
				w.breaks("a question of droid's has no answer: window %d", p.win.n)
			}
		}
	}
	for _, win := range w.wins {
		for id, status := range win.calls {
			if status != protocol.StatusCompleted && status != protocol.StatusFailed {
				w.breaks("a call stays open: %s is %s in window %d", id[1], status, win.n)
			}
		}
	}
	for session, title := range w.titles {
		for _, a := range w.asks {
			if a.session == session && a.win != title.win {
				title.unsure = true // the other window may have gone on in another session
			}
		}
		ids := w.wins[0].threadIDs(session)
		if got := w.wins[0].agent.Config.Store.Title(ids[len(ids)-1]); !title.unsure && title.win != nil && got != title.want {
			w.breaks("a title is lost: %s has %q in place of %q", session, got, title.want)
		}
	}
	w.over = true
	w.mu.Unlock()
	w.lookAtFiles()
	if w.seed%7 == 0 {
		w.forgets()
	}
	for _, win := range w.wins {
		win.close()
	}
	time.Sleep(time.Minute)
	w.nothingLeft()
	for _, p := range w.droids {
		if !p.ended() {
			w.breaks("a droid is left: of window %d", p.win.n)
		}
	}
}
