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
	params      openParams // what it was opened with
	title       string
	journal     *journal
	subscribers []*subscriber // in the order in which they came
	loader      *Client       // while it loads the session, what that tells is for it alone, also when it has gone: for loadTime
	changing    bool          // its agent opens it for the first time, or closes it
	later       []func()      // what waits for that
	partial     bool          // the journal begins after the conversation did
	result      []byte        // the agent's answer when it was opened
	mode, model []byte        // what was chosen since then, as JSON; nil for none
	options     []byte
	cut         bool // a prompt or other work has ended because its agent ends
	deleted     bool
	used        bool        // something was done in it since it was opened
	idle        *time.Timer // closes it; nil while it is needed
	working     bool        // as the agent reports it
	turnFrom    int64       // the bytes of the journal when it rested last
	questions   []*question
	since       time.Time
	lastState   string // its state since then
}

// subscriber is a client that a session is shown to.
type subscriber struct {
	client      *Client
	replays     int      // how often it was told what was said before
	replaying   bool     // it is told that now
	pending     [][]byte // what was said meanwhile
	bytes       int      // of held
	prompts     int      // of its own that have no answer
	missing     bool     // it was not told what the journal has after missed bytes
	missed      int64
	lost        bool     // it was not told something else, which a journal had that is no more
	afterReplay []func() // its prompts that wait until it is told that
}

// receptive reports whether the client shows what it is told, and can answer, at this time.
func (w *subscriber) receptive() bool {
	return !w.client.caps.IgnoresUpdatesOutsidePrompt || w.prompts > 0
}

// markMissed notes that it is not told what the journal has from there on.
func (w *subscriber) markMissed(from int64) {
	if !w.missing {
		w.missing, w.missed = true, from
	}
}

// holdBack keeps a message until the client has joined. One that takes too long is given up.
func (w *subscriber) holdBack(message []byte) {
	w.pending = append(w.pending, message)
	if w.bytes += len(message); w.bytes > maxHeld {
		w.pending, w.bytes = nil, 0
		w.client.out.Close("it reads too slowly what was said before it joined")
	}
}

// maxHeld is how many bytes are kept for a client that joins.
const maxHeld = 64 << 20

// newSession makes a session that an agent opens.
func (s *Server) newSession(id string, a *agent, w openParams) *session {
	open := &session{server: s, id: id, agent: a, params: w, journal: s.newJournal(id), lastState: Idle, since: time.Now()}
	s.sessions[id] = open
	return open
}

// end forgets the session.
func (o *session) end() {
	if o.server.sessions[o.id] != o {
		return
	}
	delete(o.server.sessions, o.id)
	for _, q := range slices.Clone(o.questions) {
		q.giveUp()
	}
	o.subscribers = nil
	if o.idle != nil {
		o.idle.Stop()
		o.idle = nil
	}
	if (o.working || o.cut) && !o.deleted {
		o.keepJournal()
	} else {
		o.server.removeJournal(o.journal)
	}
	o.agent.endIfUnused()
	o.finishChange()
}

// finishChange has what waited for a change go on, now that it is over.
func (o *session) finishChange() {
	o.changing = false
	later := o.later
	o.later = nil
	for _, f := range later {
		f()
	}
}

func (o *session) info() SessionInfo {
	info := SessionInfo{ID: o.id, Title: o.title, Directory: o.params.directory, State: o.lastState, Since: o.since, Clients: []string{}, Agent: o.agent.pid()}
	for _, w := range o.subscribers {
		info.Clients = append(info.Clients, w.client.displayName())
	}
	for _, q := range o.questions {
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
	case slices.ContainsFunc(o.questions, (*question).forPeople):
		return Asking
	}
	return Running
}

// setWorking takes the agent's report whether the session works.
func (o *session) setWorking(working bool) {
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
	if now := o.state(); now != o.lastState {
		o.lastState, o.since = now, time.Now()
	}
	o.closeIfUnused()
}

// needed reports whether the session is to stay: it works, somebody has it, or its agent is about to answer or to end.
func (o *session) needed() bool {
	return o.working || len(o.subscribers) > 0 || o.loader != nil || o.changing || o.agent.ending || o.agent.hasPendingRequest(o)
}

// closeIfUnused closes the session after a while in which nobody needs it, or at once where nothing was done in it. The caller calls it whenever that
// may have begun or ended.
func (o *session) closeIfUnused() {
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
			o.finishChange()
		}
	})
}

// resetJournal has the journal begin anew, for who loads the session. What others have missed is not to be found in it.
func (o *session) resetJournal() {
	o.server.removeJournal(o.journal)
	o.journal, o.partial, o.turnFrom = o.server.newJournal(o.id), false, 0
	for _, w := range o.subscribers {
		w.lost = w.lost || w.missing
		w.missing = false
	}
}

// worksForOthers reports whether the session works, and the client has neither asked for that nor has it alone.
func (o *session) worksForOthers(c *Client) bool {
	w := o.subscriber(c)
	return o.working && (w == nil || w.prompts == 0 && len(o.subscribers) > 1)
}

func (o *session) subscriber(c *Client) *subscriber {
	if i := slices.IndexFunc(o.subscribers, func(w *subscriber) bool { return w.client == c }); i >= 0 {
		return o.subscribers[i]
	}
	return nil
}

// subscribe shows the session to a client from now on.
func (o *session) subscribe(c *Client) *subscriber {
	w := o.subscriber(c)
	if w == nil {
		w = &subscriber{client: c}
		o.subscribers = append(o.subscribers, w)
	}
	o.closeIfUnused()
	return w
}

// unsubscribe shows it to a client no longer. What only that client was asked others are.
func (o *session) unsubscribe(c *Client) {
	o.subscribers = slices.DeleteFunc(o.subscribers, func(w *subscriber) bool { return w.client == c })
	for _, q := range slices.Clone(o.questions) {
		q.removeClient(c)
	}
	o.closeIfUnused()
}

// broadcast shows a message, with its line's end, to all who are there but one, and keeps it. nil leaves out nobody.
func (o *session) broadcast(not *Client, line []byte) {
	from := o.journal.put
	o.journal.write(line)
	message := line[: len(line)-1 : len(line)-1]
	if o.loader != nil {
		if o.loader != not {
			o.loader.send(o.adapt(o.loader, message, true))
		}
		return
	}
	for _, w := range o.subscribers {
		switch {
		case w.client == not:
		case w.replaying:
			w.holdBack(message)
		case !w.receptive() && inTurns(message):
			w.markMissed(from)
		default:
			w.client.send(o.adapt(w.client, message, false))
		}
	}
}

// full is closed when the only one who is there has room for more; nil if it has, or is not alone.
func (o *session) full() <-chan struct{} {
	switch {
	case o.loader != nil:
		return o.loader.out.Full()
	case len(o.subscribers) == 1 && !o.subscribers[0].replaying:
		return o.subscribers[0].client.out.Full()
	}
	return nil
}

// applyUpdate keeps what an update changes of the answer that opened the session.
func (o *session) applyUpdate(params []byte) {
	update := rawjson.Field(params, "update")
	switch textAt(update, "sessionUpdate") {
	case "current_mode_update":
		o.mode = bytes.Clone(rawjson.Field(update, "currentModeId"))
	case "config_option_update":
		o.setOptions(rawjson.Field(update, "configOptions"))
	case "session_info_update":
		if title := textAt(update, "title"); title != "" {
			o.title = title
		}
	}
}

// setOptions notes options, of which the mode and the model are told in ways of their own, too.
func (o *session) setOptions(options []byte) {
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

// broadcastOption tells the others what a client has set, which the agent tells that client alone: as its answer.
func (o *session) broadcastOption(c *Client, result []byte) {
	options := rawjson.Field(result, "configOptions")
	if options == nil {
		return
	}
	o.setOptions(options)
	o.broadcastUpdate(c, struct {
		SessionUpdate string          `json:"sessionUpdate"`
		ConfigOptions json.RawMessage `json:"configOptions"`
	}{"config_option_update", options})
}

// openResult is the answer to a client that joins: as the agent gave it when the session was opened, with
// what has changed since.
func (o *session) openResult(c *Client) json.RawMessage {
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
	return line
}

// promptBegan notes a client's prompt.
func (o *session) promptBegan(c *Client, params []byte) {
	if w := o.subscriber(c); w != nil {
		w.prompts++
	}
	if !o.server.Agent.Activity {
		o.setWorking(true)
	}
	o.showPrompt(c, params)
	o.offerQuestions() // it may hear now
}

// showPrompt shows a client's prompt to the others, as agents show it when they load a session.
func (o *session) showPrompt(c *Client, params []byte) {
	var p struct{ Prompt []json.RawMessage }
	_ = json.Unmarshal(params, &p) // the agent says what is wrong with it
	id := uuid.NewString()
	for _, block := range p.Prompt {
		o.broadcastUpdate(c, struct {
			SessionUpdate string          `json:"sessionUpdate"`
			MessageID     string          `json:"messageId"`
			Content       json.RawMessage `json:"content"`
			Meta          map[string]any  `json:"_meta"`
		}{"user_message_chunk", id, block, map[string]any{"droid-acp": map[string]string{"client": c.shownName()}}})
	}
}

// promptEnded tells those how it ended who have not asked.
func (o *session) promptEnded(c *pendingCall, line, result []byte) {
	if w := o.subscriber(c.client); w != nil && w.prompts > 0 {
		w.prompts--
	}
	if !o.server.Agent.Activity {
		o.setWorking(o.agent.hasPendingPrompt(o))
	}
	if o.agent.ending { // so it has not stored all of the turn
		o.cut = true
		return
	}
	meta := map[string]any{}
	if result != nil {
		meta["stopReason"] = textAt(result, "stopReason")
	} else {
		meta["error"] = errorText(line)
		o.broadcastText("The prompt failed: "+errorText(line), c.client)
	}
	o.broadcastUpdate(c.client, struct {
		SessionUpdate string         `json:"sessionUpdate"`
		Meta          map[string]any `json:"_meta"`
	}{"session_info_update", map[string]any{"droid-acp": meta}})
	for _, w := range o.subscribers {
		if w.client != c.client && w.prompts > 0 && !w.replaying {
			o.separateTurns(w)
		}
	}
}

// errorText is what the error of a response says to people.
func errorText(line []byte) string {
	e := rawjson.Field(line, "error")
	if details := textAt(rawjson.Field(e, "data"), "details"); details != "" {
		return textAt(e, "message") + "\n\n" + details
	}
	return textAt(e, "message")
}

// broadcastText shows words of the server's own to all but one.
func (o *session) broadcastText(text string, not *Client) {
	o.broadcastUpdate(not, agentText(text))
}

// agentText is a message of the server's own, marked as no part of an answer.
func agentText(text string) any {
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

func (o *session) broadcastUpdate(not *Client, update any) {
	if line, err := o.encode(update); err == nil {
		o.broadcast(not, line)
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
