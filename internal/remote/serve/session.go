package serve

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/rawjson"
)

// session is one that an agent has open. The server's lock guards it.
type session struct {
	server      *Server
	id          string
	agent       *agent
	wants       wants // what it was opened with
	title       string
	journal     *journal
	watchers    []*watcher // in the order in which they came
	loader      *Client    // while it loads the session, what that tells is for it alone, also when it has gone: for loadTime
	changing    bool       // its agent opens it for the first time, or closes it
	later       []func()   // what waits for that
	partial     bool       // the journal begins after the conversation did
	result      []byte     // the agent's answer when it was opened
	mode, model []byte     // what was chosen since then, as JSON; nil for none
	options     []byte
	cut         bool // a prompt or other work has ended because its agent ends
	deleted     bool
	used        bool        // something was done in it since it was opened
	idle        *time.Timer // closes it; nil while it is needed
	working     bool        // as the agent reports it
	turnFrom    int64       // the bytes of the journal when it rested last
	asked       []*question
	since       time.Time
	was         string // its state since then
}

// watcher is a client that a session is shown to.
type watcher struct {
	client  *Client
	joins   int      // how often it was told what was said before
	joining bool     // it is told that now
	held    [][]byte // what was said meanwhile
	bytes   int      // of held
	prompts int      // of its own that have no answer
	missing bool     // it was not told what the journal has after missed bytes
	missed  int64
	lost    bool     // it was not told something else, which a journal had that is no more
	after   []func() // its prompts that wait until it is told that
}

// hears reports whether the client shows what it is told, and can answer, at this time.
func (w *watcher) hears() bool { return !w.client.caps.IgnoresUpdatesOutsidePrompt || w.prompts > 0 }

// misses notes that it is not told what the journal has from there on.
func (w *watcher) misses(from int64) {
	if !w.missing {
		w.missing, w.missed = true, from
	}
}

// hold keeps a message until the client has joined. One that takes too long is given up.
func (w *watcher) hold(message []byte) {
	w.held = append(w.held, message)
	if w.bytes += len(message); w.bytes > maxHeld {
		w.held, w.bytes = nil, 0
		w.client.out.Close("it reads too slowly what was said before it joined")
	}
}

// maxHeld is how many bytes are kept for a client that joins.
const maxHeld = 64 << 20

// newSession makes a session that an agent opens.
func (s *Server) newSession(id string, a *agent, w wants) *session {
	open := &session{server: s, id: id, agent: a, wants: w, journal: s.newJournal(id), was: Idle, since: time.Now()}
	s.sessions[id] = open
	return open
}

// end forgets the session.
func (o *session) end() {
	if o.server.sessions[o.id] != o {
		return
	}
	delete(o.server.sessions, o.id)
	for _, q := range slices.Clone(o.asked) {
		q.giveUp()
	}
	o.watchers = nil
	if o.idle != nil {
		o.idle.Stop()
		o.idle = nil
	}
	if (o.working || o.cut) && !o.deleted {
		o.keepJournal()
	} else {
		o.server.removeJournal(o.journal)
	}
	o.agent.rest()
	o.changed()
}

// changed has what waited for a change go on, now that it is over.
func (o *session) changed() {
	o.changing = false
	later := o.later
	o.later = nil
	for _, f := range later {
		f()
	}
}

func (o *session) info() SessionInfo {
	info := SessionInfo{ID: o.id, Title: o.title, Directory: o.wants.directory, State: o.was, Since: o.since, Clients: []string{}, Agent: o.agent.pid()}
	for _, w := range o.watchers {
		info.Clients = append(info.Clients, w.client.called())
	}
	for _, q := range o.asked {
		if q.forPeople() {
			info.Question = q.title()
		}
	}
	return info
}

func (o *session) state() string {
	switch {
	case !o.working:
		return Idle
	case slices.ContainsFunc(o.asked, (*question).forPeople):
		return Asks
	}
	return Running
}

// works takes the agent's report whether the session works.
func (o *session) works(working bool) {
	changes := working != o.working
	o.cut = o.cut || changes && o.agent.ending
	o.working, o.used = working, o.used || working
	if changes && !o.cut {
		o.markWork()
	}
	o.markTurn()
	o.update()
}

// markTurn notes where the journal is, if the session rests: what is said from there on belongs to the turn that comes.
func (o *session) markTurn() {
	if !o.working {
		o.turnFrom = o.journal.put
	}
}

// update notes since when the session does what it does.
func (o *session) update() {
	if now := o.state(); now != o.was {
		o.was, o.since = now, time.Now()
	}
	o.rest()
}

// needed reports whether the session is to stay: it works, somebody has it, or its agent is about to answer or to end.
func (o *session) needed() bool {
	return o.working || len(o.watchers) > 0 || o.loader != nil || o.changing || o.agent.ending || o.agent.asked(o)
}

// rest closes the session after a while in which nobody needs it, or at once where nothing was done in it. The caller calls it whenever that
// may have begun or ended.
func (o *session) rest() {
	switch {
	case o.server.sessions[o.id] != o:
	case o.needed():
		if o.idle != nil {
			o.idle.Stop()
			o.idle = nil
		}
	case o.idle != nil:
	case !o.used:
		o.close()
	default:
		var idle *time.Timer
		idle = time.AfterFunc(o.server.KeepIdle, func() {
			o.server.mu.Lock()
			defer o.server.mu.Unlock()
			if o.idle != idle {
				return
			}
			o.idle = nil
			if !o.needed() {
				o.server.Log.Info("a session that nobody needs is closed", zap.String("session", o.id))
				o.close()
			}
		})
		o.idle = idle
	}
}

// close has the agent close the session. Who opens it meanwhile waits for that.
func (o *session) close() {
	o.changing = true
	o.agent.ask("session/close", map[string]string{"sessionId": o.id}, func(_ []byte, err error) {
		if err != nil {
			o.server.Log.Warn("a session is not closed", zap.String("session", o.id), zap.Error(err))
			o.changed()
		}
	})
}

// beginAnew has the journal begin anew, for who loads the session. What others have missed is not to be found in it.
func (o *session) beginAnew() {
	o.server.removeJournal(o.journal)
	o.journal, o.partial, o.turnFrom = o.server.newJournal(o.id), false, 0
	for _, w := range o.watchers {
		w.lost = w.lost || w.missing
		w.missing = false
	}
}

// worksForOthers reports whether the session works, and the client has neither asked for that nor has it alone.
func (o *session) worksForOthers(c *Client) bool {
	w := o.watcher(c)
	return o.working && (w == nil || w.prompts == 0 && len(o.watchers) > 1)
}

func (o *session) watcher(c *Client) *watcher {
	if i := slices.IndexFunc(o.watchers, func(w *watcher) bool { return w.client == c }); i >= 0 {
		return o.watchers[i]
	}
	return nil
}

// attach shows the session to a client from now on.
func (o *session) attach(c *Client) *watcher {
	w := o.watcher(c)
	if w == nil {
		w = &watcher{client: c}
		o.watchers = append(o.watchers, w)
	}
	o.rest()
	return w
}

// detach shows it to a client no longer. What only that client was asked others are.
func (o *session) detach(c *Client) {
	o.watchers = slices.DeleteFunc(o.watchers, func(w *watcher) bool { return w.client == c })
	for _, q := range slices.Clone(o.asked) {
		q.without(c)
	}
	o.rest()
}

// tellBut shows a message, with its line's end, to all who are there but one, and keeps it. nil leaves out nobody.
func (o *session) tellBut(not *Client, line []byte) {
	from := o.journal.put
	o.journal.write(line)
	message := line[: len(line)-1 : len(line)-1]
	if o.loader != nil {
		if o.loader != not {
			o.loader.send(o.shown(o.loader, message, true))
		}
		return
	}
	for _, w := range o.watchers {
		switch {
		case w.client == not:
		case w.joining:
			w.hold(message)
		case !w.hears() && inTurns(message):
			w.misses(from)
		default:
			w.client.send(o.shown(w.client, message, false))
		}
	}
}

// full is closed when the only one who is there has room for more; nil if it has, or is not alone.
func (o *session) full() <-chan struct{} {
	switch {
	case o.loader != nil:
		return o.loader.out.Full()
	case len(o.watchers) == 1 && !o.watchers[0].joining:
		return o.watchers[0].client.out.Full()
	}
	return nil
}

// note keeps what an update changes of the answer that opened the session.
func (o *session) note(params []byte) {
	update := rawjson.Field(params, "update")
	switch textAt(update, "sessionUpdate") {
	case "current_mode_update":
		o.mode = bytes.Clone(rawjson.Field(update, "currentModeId"))
	case "config_option_update":
		o.chosen(rawjson.Field(update, "configOptions"))
	case "session_info_update":
		if title := textAt(update, "title"); title != "" {
			o.title = title
		}
	}
}

// chosen notes options, of which the mode and the model are told in ways of their own, too.
func (o *session) chosen(options []byte) {
	o.options = bytes.Clone(options)
	var all []struct {
		Category     string
		CurrentValue json.RawMessage
	}
	_ = json.Unmarshal(options, &all) // of an agent that says something else nothing is noted
	for _, option := range all {
		switch option.Category {
		case "mode":
			o.mode = option.CurrentValue
		case "model":
			o.model = option.CurrentValue
		}
	}
}

// optionSet tells the others what a client has set, which the agent tells that client alone: as its answer.
func (o *session) optionSet(c *Client, result []byte) {
	options := rawjson.Field(result, "configOptions")
	if options == nil {
		return
	}
	o.chosen(options)
	o.updates(c, struct {
		SessionUpdate string          `json:"sessionUpdate"`
		ConfigOptions json.RawMessage `json:"configOptions"`
	}{"config_option_update", options})
}

// opened is the answer to a client that joins: as the agent gave it when the session was opened, with
// what has changed since.
func (o *session) opened(c *Client) json.RawMessage {
	result := protocol.Fields(o.result)
	if result == nil {
		result = map[string]json.RawMessage{}
	}
	delete(result, "sessionId")
	for name, now := range map[string]struct {
		member string
		value  []byte
	}{"modes": {"currentModeId", o.mode}, "models": {"currentModelId", o.model}} {
		if choices := protocol.Fields(result[name]); choices != nil && now.value != nil {
			choices[now.member] = now.value
			result[name], _ = json.Marshal(choices) // raw JSON encodes
		}
	}
	if o.options != nil {
		result["configOptions"] = o.options
	}
	if !c.caps.BooleanOptions {
		withoutSwitches(o, c, result)
	}
	line, _ := json.Marshal(result)
	return forClient(c, line)
}

// promptBegan notes a client's prompt.
func (o *session) promptBegan(c *Client, params []byte) {
	if w := o.watcher(c); w != nil {
		w.prompts++
	}
	if !o.server.Agent.Activity {
		o.works(true)
	}
	o.showPrompt(c, params)
	o.offer() // it may hear now
}

// showPrompt shows a client's prompt to the others, as agents show it when they load a session.
func (o *session) showPrompt(c *Client, params []byte) {
	var p struct{ Prompt []json.RawMessage }
	_ = json.Unmarshal(params, &p) // the agent says what is wrong with it
	id := uuid.NewString()
	for _, block := range p.Prompt {
		o.updates(c, struct {
			SessionUpdate string          `json:"sessionUpdate"`
			MessageID     string          `json:"messageId"`
			Content       json.RawMessage `json:"content"`
			Meta          map[string]any  `json:"_meta"`
		}{"user_message_chunk", id, block, map[string]any{"droid-acp": map[string]string{"client": c.shownName()}}})
	}
}

// promptEnded tells those how it ended who have not asked.
func (o *session) promptEnded(c *call, line, result []byte) {
	if w := o.watcher(c.client); w != nil && w.prompts > 0 {
		w.prompts--
	}
	if !o.server.Agent.Activity {
		o.works(o.agent.prompted(o))
	}
	if o.agent.ending { // so it has not stored all of the turn
		o.cut = true
		return
	}
	meta := map[string]any{}
	if result != nil {
		meta["stopReason"] = textAt(result, "stopReason")
	} else {
		meta["error"] = failure(line)
		o.say("The prompt failed: "+failure(line), c.client)
	}
	o.updates(c.client, struct {
		SessionUpdate string         `json:"sessionUpdate"`
		Meta          map[string]any `json:"_meta"`
	}{"session_info_update", map[string]any{"droid-acp": meta}})
	for _, w := range o.watchers {
		if w.client != c.client && w.prompts > 0 && !w.joining {
			o.setApart(w)
		}
	}
}

// failure is what the error of a response says to people.
func failure(line []byte) string {
	e := rawjson.Field(line, "error")
	if details := textAt(rawjson.Field(e, "data"), "details"); details != "" {
		return textAt(e, "message") + "\n\n" + details
	}
	return textAt(e, "message")
}

// say shows words of the server's own to all but one.
func (o *session) say(text string, not *Client) {
	o.updates(not, ownWords(text))
}

// ownWords is a message of the server's own, marked as no part of an answer.
func ownWords(text string) any {
	return struct {
		SessionUpdate string           `json:"sessionUpdate"`
		MessageID     string           `json:"messageId"`
		Content       protocol.Content `json:"content"`
		Meta          map[string]any   `json:"_meta"`
	}{
		"agent_message_chunk", uuid.NewString(), protocol.Content{Type: "text", Text: &text},
		map[string]any{"droid-acp": map[string]any{"notice": true}},
	}
}

func (o *session) updates(not *Client, update any) {
	if line, err := o.encode(update); err == nil {
		o.tellBut(not, line)
	}
}

func (o *session) encode(update any) ([]byte, error) {
	line, err := encodeUpdate(o.id, update)
	if err != nil {
		o.server.Log.Error("an update cannot be encoded", zap.Error(err))
	}
	return line, err
}

// encodeUpdate is the line of an update of the session with this id.
func encodeUpdate(id string, update any) ([]byte, error) {
	return jsonrpc.EncodeCall(nil, "session/update", struct {
		SessionID string `json:"sessionId"`
		Update    any    `json:"update"`
	}{id, update})
}
