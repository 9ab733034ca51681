package trace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/visible"
)

// Row is a record as it is shown.
type Row struct {
	N        int // number of the record, from 1
	Time     time.Time
	From, To string
	What     string   // the message on one line
	Events   []string // the normalized events that it caused
	Rows     []*Row   // of a line of droid: what was sent to the editor because of it; of a line to the editor: what it was sent for
	raw      string
	text     string // of a piece of a streamed message
	run      string // the message of which this is a piece, "" for other lines
}

// Span is a time during which one waits for another, a tool works, or a turn runs.
type Span struct {
	Kind   SpanKind
	Label  string
	Begin  time.Time
	End    time.Time // of the trace or of the peer, if it is Open
	Open   bool
	Failed bool // it ended with an error
	Row    *Row // in which it begins
}

// SpanKind says who waits for whom.
type SpanKind int

// The kinds of Span.
const (
	EditorWaits     SpanKind = iota // for droid-acp
	AgentAsksEditor                 // droid-acp waits for the editor
	AgentAsksDroid                  // droid-acp waits for droid
	DroidWaits                      // for droid-acp
	ToolWorks
	TurnRuns
)

// Conversation is a trace with what became of its lines. Events are those of this program's Normalizer, fed with the recorded lines at the
// recorded times; files of subagents' sessions are not in a trace, and so are not in it either.
type Conversation struct {
	Trace *Trace
	Rows  []*Row
	Spans []*Span

	links  map[int]*links // of each agent
	droids map[connection]*replay
	calls  map[call]*Span
}

type connection struct {
	agent int
	peer  Peer
	pid   int
}

// call is a request that is not answered yet.
type call struct {
	connection
	dir Direction // of the request
	id  string
}

// message is the part of a JSON-RPC message that is looked at.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// New explains a trace.
func New(t *Trace) *Conversation {
	c := &Conversation{Trace: t, links: map[int]*links{}, droids: map[connection]*replay{}, calls: map[call]*Span{}}
	for _, r := range t.Records {
		if c.links[r.Agent] == nil {
			c.links[r.Agent] = newLinks()
		}
	}
	for i, r := range t.Records {
		c.add(i+1, r)
	}
	if n := len(t.Records); n > 0 {
		end := t.Records[n-1].Time
		for _, span := range c.Spans {
			if span.End.IsZero() {
				span.End, span.Open = end, true
			}
		}
	}
	return c
}

func (c *Conversation) add(n int, r Record) {
	here := connection{r.Agent, r.Peer, r.PID}
	row := &Row{N: n, Time: r.Time, From: c.name(here), To: c.name(connection{agent: r.Agent}), raw: string(r.Line) + r.Text}
	if r.Dir == Sent {
		row.From, row.To = row.To, row.From
	}
	c.Rows = append(c.Rows, row)
	var m message
	isMessage := r.Line != nil && json.Unmarshal(r.Line, &m) == nil
	switch {
	case r.Lost > 0:
		row.From, row.To, row.What = "", "", fmt.Sprintf("(%d lines were lost here)", r.Lost)
	case r.Note != "":
		row.What = "(" + r.Note + ")"
		if r.Note == noteEnded {
			c.leaveOpen(here, r.Time)
		}
	case r.Size > 0:
		row.What = fmt.Sprintf("(a line of %d bytes, which was not recorded)", r.Size)
	case !isMessage:
		row.What = "no message: " + short(r.Text+string(r.Line))
	default:
		row.What = c.describe(here, r, m, row)
	}
	if r.Peer == Droid {
		c.droid(here, r, m, row)
	} else if isMessage && r.Dir == Sent {
		c.links[r.Agent].sent(row, keysOfMessage(m))
		if len(row.Rows) > 0 && m.ID == nil {
			row.run = row.Rows[0].run
		}
	}
}

// name returns the name of a connection's peer, or of droid-acp. Its process id is in it if there are several.
func (c *Conversation) name(of connection) string {
	name := "agent"
	if len(c.links) > 1 {
		name = fmt.Sprintf("agent %d", of.agent)
	}
	switch of.peer {
	case Droid:
		return fmt.Sprintf("droid %d", of.pid)
	case Editor:
		return "editor"
	}
	return name
}

// describe returns a message on one line, and begins or ends the span of its request.
func (c *Conversation) describe(here connection, r Record, m message, row *Row) string {
	id := strings.Trim(string(m.ID), `"`)
	if m.Method == "" {
		dir := Received
		if r.Dir == Received {
			dir = Sent
		}
		answer := "answer"
		if span := c.answered(here, dir, id); span != nil {
			span.End, span.Failed = r.Time, m.Error != nil
			answer = fmt.Sprintf("answer to %s, after %s", span.Label, elapsed(span.Begin, r.Time))
		} else {
			answer += " to " + id
		}
		if m.Error != nil {
			return fmt.Sprintf("%s: error %d %s", answer, m.Error.Code, short(m.Error.Message))
		}
		return answer + ": " + short(string(m.Result))
	}
	if m.ID == nil {
		return notification(m)
	}
	label := m.Method + " " + shortID(id)
	span := &Span{Kind: kindOf(r), Label: label, Begin: r.Time, Row: row}
	c.Spans = append(c.Spans, span)
	c.calls[call{here, r.Dir, id}] = span
	return label + " " + short(string(m.Params))
}

// leaveOpen ends the spans of requests that a peer that has ended can neither answer nor have answered.
func (c *Conversation) leaveOpen(here connection, at time.Time) {
	for request, span := range c.calls {
		if request.connection == here {
			span.End, span.Open = at, true
			delete(c.calls, request)
		}
	}
}

// answered returns the span that an answer ends, nil if it is not known. Before 0.225 droid's errors may not name the request.
func (c *Conversation) answered(here connection, dir Direction, id string) *Span {
	if span := c.calls[call{here, dir, id}]; span != nil || id != "null" {
		delete(c.calls, call{here, dir, id})
		return span
	}
	var only *Span
	var its call
	for request, span := range c.calls {
		if request.connection == here && request.dir == dir {
			if only != nil {
				return nil
			}
			only, its = span, request
		}
	}
	delete(c.calls, its)
	return only
}

func kindOf(r Record) SpanKind {
	switch {
	case r.Peer == Editor && r.Dir == Received:
		return EditorWaits
	case r.Peer == Editor:
		return AgentAsksEditor
	case r.Dir == Sent:
		return AgentAsksDroid
	}
	return DroidWaits
}

// notification returns a notification by its kind.
func notification(m message) string {
	var params struct {
		Update       map[string]json.RawMessage `json:"update"`
		Notification map[string]json.RawMessage `json:"notification"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return m.Method + " " + short(string(m.Params))
	}
	fields, name := params.Update, "sessionUpdate"
	if fields == nil {
		fields, name = params.Notification, "type"
	}
	kind := text(fields[name])
	if kind == "" {
		return m.Method + " " + short(string(m.Params))
	}
	delete(fields, name)
	var rest strings.Builder
	enc := json.NewEncoder(&rest)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(fields) // a Builder takes all
	return kind + " " + short(strings.TrimSpace(rest.String()))
}

func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // anything else is no text
	return s
}

// droid feeds a record of a droid to its Normalizer.
func (c *Conversation) droid(here connection, r Record, m message, row *Row) {
	d := c.droids[here]
	if d == nil || r.Note == noteStarted {
		d = newReplay()
		c.droids[here] = d
	}
	d.emit = func(events []quirks.Event) {
		for _, ev := range events {
			row.Events = append(row.Events, visible.Line(quirks.Describe(ev)))
			c.span(d, r.Time, ev, row)
			c.links[r.Agent].caused(row, keysOfEvent(ev))
			if piece, is := ev.(quirks.Text); is && len(events) == 1 {
				row.run, row.text = "message "+shortID(piece.MessageID), piece.Text
				if piece.Thought {
					row.run = "thought of " + row.run
				}
			}
		}
	}
	d.tick(r.Time)
	switch {
	case r.Note == noteEnded:
		d.take(d.n.DroidExited(r.Time))
	case r.Line == nil:
	case r.Dir == Sent:
		d.sent(r.Time, m, r.Line)
	default:
		d.received(r.Time, r.Line)
	}
}

// span begins or ends the span of a tool or a turn.
func (c *Conversation) span(d *replay, now time.Time, ev quirks.Event, row *Row) {
	begin := func(kind SpanKind, key, label string) {
		if d.spans[key] == nil {
			d.spans[key] = &Span{Kind: kind, Label: label, Begin: now, Row: row}
			c.Spans = append(c.Spans, d.spans[key])
		}
	}
	end := func(key string, failed bool) {
		if span := d.spans[key]; span != nil {
			span.End, span.Failed = now, failed
			delete(d.spans, key)
		}
	}
	switch ev := ev.(type) {
	case quirks.ToolStarted:
		begin(ToolWorks, "tool "+ev.ID, ev.Name+" "+shortID(ev.ID))
	case quirks.ToolEnded:
		end("tool "+ev.ID, ev.IsError)
	case quirks.TurnStarted:
		begin(TurnRuns, "turn", "turn of prompt "+cmp.Or(shortID(ev.RequestID), "none"))
	case quirks.TurnEnded:
		end("turn", ev.Outcome == quirks.Failed)
	}
}

// replay is the state of one droid, as the adapter has it.
type replay struct {
	n       *quirks.Normalizer
	decoder stream.Decoder
	open    map[string]bool  // prompts that droid has, by id
	spans   map[string]*Span // that have not ended
	emit    func([]quirks.Event)
}

func newReplay() *replay {
	return &replay{n: quirks.New(stream.Version{}), open: map[string]bool{}, spans: map[string]*Span{}}
}

// tick lets pass the time until now.
func (d *replay) tick(now time.Time) {
	for range 100 { // events that are due one after the other
		at, ok := d.n.Deadline()
		if !ok || !at.Before(now) {
			return
		}
		d.take(d.n.Tick(at))
	}
}

// sent handles a line to droid.
func (d *replay) sent(now time.Time, m message, line json.RawMessage) {
	id := text(m.ID)
	switch m.Method {
	case "droid.add_user_message":
		var params struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(m.Params, &params) // without a text it is an image
		if len(d.open) == 0 {                 // else it is a follow-up of the turn that runs
			d.open[id] = true
			d.take(d.n.Begin(now, id, params.Text))
		}
	case "droid.interrupt_session":
		d.take(d.n.Interrupted(now))
	case "":
		var answer struct {
			Result *struct {
				SelectedOption string `json:"selectedOption"`
				Cancelled      bool   `json:"cancelled"`
			} `json:"result"`
		}
		_ = json.Unmarshal(line, &answer) // no result is a refusal
		refused := answer.Result == nil || answer.Result.Cancelled || answer.Result.SelectedOption == stream.OptionCancel
		d.take(d.n.RequestAnswered(now, id, refused))
	}
}

// received handles a line of droid.
func (d *replay) received(now time.Time, line json.RawMessage) {
	l, err := d.decoder.Decode(slices.Clone(line), false)
	if err != nil {
		return
	}
	if !l.Version.IsZero() {
		d.n.SetVersion(l.Version)
	}
	var events []quirks.Event
	switch {
	case l.Event != nil:
		events = d.n.Handle(now, l.Event)
	case l.Response.Err != nil && d.open[l.Response.ID]:
		events = d.n.Abort(now, l.Response.ID)
		delete(d.open, l.Response.ID)
	default:
		var result struct {
			Settings *stream.Settings `json:"settings"`
		}
		if json.Unmarshal(l.Response.Result, &result) == nil && result.Settings != nil {
			events = d.n.Settings(*result.Settings)
		}
	}
	d.take(events)
}

// take notes which prompts droid has.
func (d *replay) take(events []quirks.Event) {
	for _, ev := range events {
		switch ev := ev.(type) {
		case quirks.TurnStarted:
			d.open[ev.RequestID] = true
		case quirks.TurnEnded:
			delete(d.open, ev.RequestID)
		}
	}
	d.emit(events)
}

// clock returns the time of day.
func clock(t time.Time) string { return t.Local().Format("15:04:05.000") }

// elapsed returns a duration for people.
func elapsed(from, to time.Time) string {
	d := to.Sub(from)
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// maxShown is how many characters of a message are shown on its line.
const maxShown = 160

func short(s string) string {
	s = visible.Line(s[:min(len(s), 8*maxShown)])
	if runes := []rune(s); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return s
}

// shortID returns the first part of a UUID, other ids as they are.
func shortID(id string) string {
	if len(id) == 36 && strings.Count(id, "-") == 4 {
		return id[:8]
	}
	return short(id)
}
