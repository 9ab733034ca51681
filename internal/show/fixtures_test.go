package show

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/testing/fixture"
)

var update = flag.Bool("update", false, "rewrite the show goldens of testdata/fixtures")

// goldens are what is shown to two clients: one that has all that a client can have,
// and one of which nothing is known.
var goldens = []struct {
	section string
	client  protocol.ClientCapabilities
}{
	{"show.golden", protocol.ClientCapabilities{TerminalOutput: true, Forms: true, URLs: true, Compaction: true, Notices: true,
		ClientTraits: protocol.ClientTraits{OptionNames: true, RequestContent: true}}},
	{"show.plain.golden", protocol.ClientCapabilities{}},
}

// TestFixtures runs every recorded conversation through quirks and a View alone, and
// compares what the View says with the goldens of the fixture.
// `go test ./internal/show -update` rewrites them.
func TestFixtures(t *testing.T) {
	all, err := fixture.LoadAll("../../testdata/fixtures")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, c := range all {
		for _, g := range goldens {
			t.Run(c.Name+" "+g.section, func(t *testing.T) {
				p := newPlayer(t, c, g.client)
				for _, s := range c.Steps {
					p.step(s)
				}
				p.passUntil(p.now.Add(time.Hour))
				p.flush()
				got := p.said.String()
				if *update {
					require.NoError(t, c.SetGolden(g.section, got))
				}
				require.Equal(t, c.Golden(g.section), got)
			})
		}
	}
}

// player has a View show a recorded conversation, as the adapter does: what the recorded
// client did is told to the normaliser, and what that makes of droid's words is shown.
type player struct {
	*harness
	t        *testing.T
	norm     *quirks.Normalizer
	start    time.Time
	mode     stream.Mode
	version  stream.Version
	prompts  map[string]bool // that droid has
	stopping bool            // the client has cancelled what runs
	after    []Output        // closes up what is asked
	asked    quirks.PermissionAsked
	steps    []fixture.Step // that follow
	said     strings.Builder
	last     *Text // that was written down last
}

func newPlayer(t *testing.T, c *fixture.Conversation, client protocol.ClientCapabilities) *player {
	p := &player{harness: newHarness(client), t: t, norm: quirks.New(c.Protocol), version: c.Protocol, prompts: map[string]bool{}, steps: c.Steps}
	p.start = p.now
	p.SetLinesFromOne(c.Protocol.Has(stream.CountsLinesFromOne))
	p.disk["/workspace/notes.txt"] = "alpha\nbeta\n"
	return p
}

func (p *player) step(s fixture.Step) {
	p.passUntil(p.start.Add(s.At))
	p.steps = p.steps[1:]
	switch s.Dir {
	case fixture.ToDroid:
		p.toDroid(s.Msg)
	case fixture.FromDroid:
		p.fromDroid(s.Msg)
	case fixture.Note:
		if s.Exited() {
			p.report("droid exited")
			p.take(p.norm.Exited(p.now))
		}
	}
}

// passUntil lets time pass: what is due before that happens, in order.
func (p *player) passUntil(then time.Time) {
	for {
		at, ok := p.norm.Deadline()
		show, waits := p.Due()
		switch {
		case waits && show.Before(then) && (!ok || !at.Before(show)):
			p.now = latest(p.now, show)
			p.write(p.Tick(p.moment()))
		case ok && at.Before(then):
			p.now = latest(p.now, at)
			p.take(p.norm.Tick(p.now))
		default:
			p.now = then
			return
		}
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// request is a line that the client wrote.
type request struct {
	ID, Method string
	Params     struct{ Text string }
	Result     *struct {
		SelectedOption    string
		EditedSpecContent string
		Cancelled         bool
		Answers           []struct{ Answer string }
	}
}

func (p *player) toDroid(line json.RawMessage) {
	var m request
	if json.Unmarshal(line, &m) != nil {
		return // the recordings try nonsense too
	}
	switch {
	case m.Method == "droid.add_user_message":
		p.report("prompt %q", m.Params.Text)
		p.prompts[m.ID] = true
		p.Prompted()
		p.take(p.norm.Begin(p.now, m.ID, m.Params.Text))
	case m.Method == "droid.interrupt_session":
		p.report("interrupt")
		p.stopping = len(p.prompts) > 0
		p.closeUp()
		p.take(p.norm.Interrupted(p.now))
	case m.Method == "" && m.ID != "":
		refused := m.Result == nil || m.Result.Cancelled || m.Result.SelectedOption == stream.OptionCancel
		p.report("answer")
		p.closeUp()
		if m.Result != nil && m.Result.EditedSpecContent != "" {
			p.write(p.PlanEdited(p.asked.Tools[0].ToolUse.ID, m.Result.EditedSpecContent))
		}
		p.take(p.norm.Answered(p.now, m.ID, refused))
	}
}

func (p *player) fromDroid(line json.RawMessage) {
	l, err := new(stream.Decoder).Decode(line, false)
	require.NoError(p.t, err)
	if !l.Version.IsZero() {
		p.norm.SetVersion(l.Version)
	}
	switch {
	case l.Event != nil:
		p.take(p.norm.Push(p.now, l.Event))
		return
	case l.Response.Err != nil && p.prompts[l.Response.ID]:
		p.report("droid refused a prompt")
		p.take(p.norm.Abort(p.now, l.Response.ID))
		return
	}
	var result struct{ Settings *stream.Settings }
	if json.Unmarshal(l.Response.Result, &result) == nil && result.Settings != nil {
		p.take(p.norm.Settings(*result.Settings))
	}
}

// take shows honest events.
func (p *player) take(events []quirks.Event) {
	for _, ev := range events {
		if p.stopping && p.Droppable(ev) {
			continue
		}
		files := p.texts(p.Needs(ev)...)
		p.write(p.Event(p.moment(), ev, files))
		switch ev := ev.(type) {
		case quirks.SettingsChanged:
			p.mode = ev.Settings.Mode()
		case quirks.PermissionAsked:
			p.permission(ev, files)
		case quirks.QuestionAsked:
			p.questions(ev)
		case quirks.AskWithdrawn:
			p.closeUp()
		case quirks.TurnEnded:
			p.stopping = false
			delete(p.prompts, ev.RequestID)
			p.write(p.EndTurn(ev.Outcome == quirks.Cancelled))
		}
	}
}

func (p *player) permission(ev quirks.PermissionAsked, files Files) {
	asked := p.Permission(ev, files, Setting{Mode: p.mode, EditedPlan: p.version.Has(stream.TakesEditedPlan)})
	p.asked, p.after = ev, asked.After
	p.write(asked.Before)
	if asked.Refused {
		p.report("nobody is asked")
		return
	}
	p.lead(asked)
	d := asked.Decision()
	p.report("decision %+v", struct{ Option, Plan, Edited string }{d.Option, d.Plan, d.Edited})
}

func (p *player) questions(ev quirks.QuestionAsked) {
	asked := p.Questions(ev)
	p.after = asked.After
	p.write(asked.Before)
	if asked.Refused {
		p.report("nobody is asked")
		return
	}
	p.lead(asked)
	p.report("answers %+v", asked.Answers())
}

// lead answers a dialog as the recorded client did.
func (p *player) lead(d Dialog) {
	answers := p.recorded()
	for step, more := d.Next(); more; step, more = d.Next() {
		if step.Form != nil {
			p.line("form " + compact(p.t, step.Form))
			d.Filled(filled(answers))
			continue
		}
		p.line("choice " + compact(p.t, step.Choice))
		pick := ""
		for _, o := range step.Choice.Options {
			if len(answers) > 0 && (o.OptionID == answers[0] || string(o.Name) == answers[0] || o.OptionID == string(optionKind(answers[0]))) {
				pick = o.OptionID
			}
		}
		if pick != "" {
			answers = answers[1:]
		} else if first := step.Choice.Options[0].OptionID; strings.HasPrefix(first, "plan_") {
			pick = first // the recorded client picked it in its own words
		}
		d.Chose(pick)
	}
}

// recorded is what the recorded client answers next.
func (p *player) recorded() (answers []string) {
	for _, s := range p.steps {
		var m request
		if s.Dir != fixture.ToDroid || json.Unmarshal(s.Msg, &m) != nil {
			continue
		}
		if m.Method == "droid.interrupt_session" {
			return nil
		}
		if m.Method != "" || m.Result == nil {
			continue
		}
		if m.Result.EditedSpecContent != "" {
			return []string{EditOption, m.Result.EditedSpecContent}
		}
		if m.Result.SelectedOption != "" {
			return []string{m.Result.SelectedOption}
		}
		for _, a := range m.Result.Answers {
			answers = append(answers, a.Answer)
		}
		return answers
	}
	return nil
}

// filled is a form with these answers.
func filled(answers []string) *protocol.ElicitationResult {
	result := &protocol.ElicitationResult{Action: "cancel"}
	for i, answer := range answers {
		text, _ := json.Marshal(answer) // strings always encode
		result.Action = "accept"
		if result.Content == nil {
			result.Content = map[string]json.RawMessage{planField: text}
		}
		result.Content[choiceField(i)] = text
	}
	return result
}

func (p *player) closeUp() {
	p.write(p.after)
	p.after = nil
}

// report writes down what happens around the View.
func (p *player) report(format string, args ...any) { p.line(fmt.Sprintf("> "+format, args...)) }

// write writes down what the View says, a line each; pieces of one text as one.
func (p *player) write(outputs []Output) {
	for _, o := range outputs {
		switch o := o.(type) {
		case Text:
			if p.last != nil && p.last.MessageID == o.MessageID && p.last.Thought == o.Thought {
				p.last.Text += o.Text
				continue
			}
			p.flush()
			p.last = &o
		case Notice:
			p.line(fmt.Sprintf("report %q", string(o)))
		default:
			p.line(compact(p.t, o))
		}
	}
}

func (p *player) line(text string) {
	p.flush()
	p.said.WriteString(text + "\n")
}

func (p *player) flush() {
	if t := p.last; t != nil {
		p.last = nil
		kind := "text"
		if t.Thought {
			kind = "thought"
		} else if t.Notice {
			kind = "notice"
		}
		fmt.Fprintf(&p.said, "%s %s %q\n", kind, t.MessageID, t.Text)
	}
}

// compact is JSON on one line that leaves < > & as they are, for readers.
func compact(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	text := string(raw)
	for escaped, sign := range map[string]string{`\u003c`: "<", `\u003e`: ">", `\u0026`: "&"} {
		text = strings.ReplaceAll(text, escaped, sign)
	}
	return text
}
