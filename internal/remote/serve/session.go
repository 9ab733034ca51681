package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/text/rawjson"
)

// session is a session that an agent has open. The server's lock guards it.
type session struct {
	server      *Server
	id          string
	agent       *agent
	operations  []*operation // the oldest first
	prompted    time.Time    // when the prompt came of which no text has come yet; zero otherwise
	token       string       // the name of the token of the client that opened it
	params      openParams   // as it was opened
	title       string
	journal     *journal
	subscribers []*subscriber // in the order of their arrival
	loader      *Client       // set while a client loads the session: replayed updates go to it alone, even after it disconnects, until loadTime has passed
	stalled     bool          // the agent no longer waits for the loader, which has read nothing, see stallTime
	changing    bool          // its agent opens it for the first time, or closes it
	later       []func()      // run when changing ends
	partial     bool          // the journal begins later than the conversation
	result      []byte        // the agent's answer to the request that opened it
	mode, model []byte        // as JSON, if chosen since then; otherwise nil
	options     []byte
	cut         bool // a prompt or other work ended because its agent ends
	deleted     bool
	used        bool        // something was done in it since it was opened
	idle        *time.Timer // closes it; nil while it is needed
	working     bool        // as the agent reports it
	turnFrom    int64       // the journal's offset when the session was last idle
	questions   []*question
	since       time.Time
	lastState   string // the state since that time
}

// subscriber is a client that has a session open.
type subscriber struct {
	client      *Client
	replays     int           // number of replays
	replaying   bool          // a replay is running
	pending     []heldMessage // since the replay began
	bytes       int           // total size of pending
	prompts     int           // its own unanswered prompts
	missing     bool          // it was not sent the journal from offset missed on
	missed      int64
	lost        bool     // it was not sent something else, from a journal that was reset
	afterReplay []func() // what waits for a replay: a prompt, and its messages behind that
}

// receptive reports whether the client can show updates and answer questions at this time.
func (w *subscriber) receptive() bool {
	return !w.client.caps.IgnoresUpdatesOutsidePrompt || w.prompts > 0
}

// markMissed records that it is not sent the journal from an offset on.
func (w *subscriber) markMissed(from int64) {
	if !w.missing {
		w.missing, w.missed = true, from
	}
}

// heldMessage is a message that is kept until a replay has ended.
type heldMessage struct {
	text []byte
	at   cursor // behind it
}

// holdBack keeps a message until the replay has ended. A client for which too much is kept is disconnected.
func (w *subscriber) holdBack(message []byte, at cursor) {
	w.pending = append(w.pending, heldMessage{message, at})
	if w.bytes += len(message); w.bytes > maxHeld {
		w.pending, w.bytes = nil, 0
		w.client.out.Close("it reads too slowly what was said before it joined")
	}
}

// maxHeld is how many bytes are kept for one client.
const maxHeld = 64 << 20

// newSession makes the session that an agent opens.
func (s *Server) newSession(id string, a *agent, w openParams) *session {
	open := &session{server: s, id: id, agent: a, params: w, journal: s.newJournal(id), lastState: Idle, since: time.Now()}
	s.sessions[id] = open
	delete(s.closedIn, id)
	return open
}

// end removes the session from the server.
func (o *session) end() {
	if o.server.sessions[o.id] != o {
		return
	}
	delete(o.server.sessions, o.id)
	o.server.closedIn[o.id] = o.agent
	o.server.Log.Info("a session ended", zap.String("session", o.id), zap.Int("agent", o.agent.pid()))
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

// finishChange runs what waited for a change of the session, which is over now.
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

// setWorking handles the agent's report whether the session works.
func (o *session) setWorking(working bool) {
	changes := working != o.working
	o.cut = o.cut || changes && o.agent.ending
	o.working, o.used = working, o.used || working
	if changes && !o.cut {
		o.markWork()
	}
	o.markTurn()
	for _, w := range o.subscribers {
		o.sendActivity(w.client)
	}
	o.update()
}

// markTurn records the offset of the journal if the session is idle: what follows belongs to the next turn.
func (o *session) markTurn() {
	if !o.working {
		o.turnFrom = o.journal.put
	}
}

// update records when the session's state changed.
func (o *session) update() {
	if now := o.state(); now != o.lastState {
		o.lastState, o.since = now, time.Now()
	}
	o.closeIfUnused()
	o.server.notifyDrain()
}

// needed reports whether the session must stay open: it works, a client has it, or its agent is about to answer or to end.
func (o *session) needed() bool {
	return o.working || len(o.subscribers) > 0 || o.loader != nil || o.changing || o.agent.ending || o.agent.hasPendingRequest(o)
}

// closeIfUnused closes the session after it was not needed for a while, or at once if nothing was done in it. The caller calls it whenever
// needed may have changed.
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
				o.server.Log.Info("closing an unused session", zap.String("session", o.id))
				o.close()
			}
		})
		o.idle = idle
	}
}

// close asks the agent to close the session. Clients that open it wait until that is done.
func (o *session) close() {
	o.changing = true
	o.agent.ask("session/close", map[string]string{"sessionId": o.id}, func(_ []byte, err error) {
		if err != nil {
			o.server.Log.Warn("cannot close a session", zap.String("session", o.id), zap.Error(err))
			o.finishChange()
		}
	})
}

// resetJournal starts a new journal, for a client that loads the session. It does not contain what other clients have missed.
func (o *session) resetJournal() {
	o.server.removeJournal(o.journal)
	o.journal, o.partial, o.turnFrom = o.server.newJournal(o.id), false, 0
	for _, w := range o.subscribers {
		w.lost = w.lost || w.missing
		w.missing = false
	}
}

// worksForOthers reports whether the session works, the client has not prompted it, and another client has it open.
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

// subscribe adds a client to the session.
func (o *session) subscribe(c *Client) *subscriber {
	w := o.subscriber(c)
	if w == nil {
		w = &subscriber{client: c}
		o.subscribers = append(o.subscribers, w)
		o.server.notifyChange()
	}
	o.closeIfUnused()
	o.sendActivity(c)
	return w
}

// sendActivity sends a client whether the session works, if it has asked for that.
func (o *session) sendActivity(c *Client) {
	if c.attachParams.Activity {
		c.notify(protocol.ActivityMethod, protocol.ActivityParams{SessionID: o.id, Working: o.working})
	}
}

// unsubscribe removes a client from the session. Questions that only that client had go to others.
func (o *session) unsubscribe(c *Client) {
	o.subscribers = slices.DeleteFunc(o.subscribers, func(w *subscriber) bool { return w.client == c })
	for _, q := range slices.Clone(o.questions) {
		q.removeClient(c)
	}
	o.closeIfUnused()
}

// broadcast sends a message, with its line end, to all clients but one, and adds it to the journal. not is nil to exclude none.
func (o *session) broadcast(not *Client, line []byte) {
	from, message := o.journal.put, line[:len(line)-1:len(line)-1]
	if not != nil && not.id != "" {
		line = append(relay.WithParamsMeta(message, map[string]string{exceptMember: not.id}), '\n')
	}
	o.journal.write(line)
	at := o.journal.cursor()
	if o.loader != nil {
		if o.loader != not {
			o.loader.send(o.marked(o.loader, o.adapt(o.loader, message, true), at))
		}
		return
	}
	for _, w := range o.subscribers {
		switch {
		case w.client == not:
		case w.replaying:
			w.holdBack(message, at)
		case !w.receptive() && inTurns(message):
			w.markMissed(from)
		default:
			w.client.send(o.marked(w.client, o.adapt(w.client, message, false), at))
		}
	}
}

// applyUpdate records what an update changes in the answer that opened the session.
func (o *session) applyUpdate(params []byte) {
	update := rawjson.Field(params, "update")
	switch textAt(update, "sessionUpdate") {
	case "agent_message_chunk", "agent_thought_chunk":
		if !o.prompted.IsZero() {
			o.server.metrics.delay(time.Since(o.prompted))
			o.prompted = time.Time{}
		}
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

// setOptions records options. The mode and the model among them also have separate fields in ACP.
func (o *session) setOptions(options []byte) {
	o.options = bytes.Clone(options)
	var all []struct {
		Category     string
		CurrentValue json.RawMessage
	}
	_ = json.Unmarshal(options, &all) // an agent that sends something else changes nothing
	for _, option := range all {
		switch option.Category {
		case "mode":
			o.mode = option.CurrentValue
		case "model":
			o.model = option.CurrentValue
		}
	}
}

// broadcastOption sends the other clients an option that a client has set: the agent sends it to that client alone, in its answer.
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

// openResult returns the answer for a client that joins: the agent's answer when the session was opened, with what has changed since.
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
			result[name], _ = json.Marshal(choices) // raw JSON can be encoded
		}
	}
	if o.options != nil {
		result["configOptions"] = o.options
	}
	if !c.caps.BooleanOptions {
		withoutSwitches(o, c, result)
	}
	line, _ := json.Marshal(result)
	return o.markedResult(c, forClient(c, line))
}

// promptBegan records a client's prompt.
func (o *session) promptBegan(c *Client, params []byte) {
	if w := o.subscriber(c); w != nil {
		w.prompts++
	}
	if !o.server.Agent.Activity {
		o.setWorking(true)
	}
	o.prompted = time.Now()
	o.showPrompt(c, params)
	o.offerQuestions() // it may be receptive now
}

// showPrompt shows a client's prompt to the others, in the form in which agents replay it.
func (o *session) showPrompt(c *Client, params []byte) {
	var p struct{ Prompt []json.RawMessage }
	_ = json.Unmarshal(params, &p) // the agent reports what is wrong with it
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

// promptEnded shows how a prompt ended to the clients that did not send it.
func (o *session) promptEnded(c *pendingCall, line, result []byte) {
	if w := o.subscriber(c.client); w != nil && w.prompts > 0 {
		w.prompts--
	}
	if !o.server.Agent.Activity {
		o.setWorking(o.agent.hasPendingPrompt(o))
	}
	o.prompted = time.Time{}
	o.server.metrics.count(metricTurns, "stop", cmp.Or(textAt(result, "stopReason"), "error"))
	if o.agent.ending { // it has not stored the whole turn
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

// errorText returns the text of a response's error for people.
func errorText(line []byte) string {
	e := rawjson.Field(line, "error")
	if details := textAt(rawjson.Field(e, "data"), "details"); details != "" {
		return textAt(e, "message") + "\n\n" + details
	}
	return textAt(e, "message")
}

// broadcastText shows a text of the server to all clients but one.
func (o *session) broadcastText(text string, not *Client) {
	o.broadcastUpdate(not, agentText(text))
}

// agentText returns a message chunk of the server, marked as no part of an answer.
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

// encodeUpdate returns the line of an update of a session.
func encodeUpdate(id string, update any) ([]byte, error) {
	return jsonrpc.EncodeCall(nil, "session/update", struct {
		SessionID string `json:"sessionId"`
		Update    any    `json:"update"`
	}{id, update})
}
