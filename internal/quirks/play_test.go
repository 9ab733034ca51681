package quirks

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fixture"
)

var update = flag.Bool("update", false, "rewrite the golden sections of the fixtures")

const fixtures = "../../testdata/fixtures"

// player feeds a conversation to a Normalizer the way the adapter does.
type player struct {
	n      *Normalizer
	start  time.Time
	open   map[string]bool // prompts begun or started by droid, by request id
	events []Event
	report func(format string, args ...any) // what the client does
	check  *checker
	files  map[string][]byte // of subagents, as they are at the end, by id
}

func newPlayer(v stream.Version) *player {
	return &player{
		n:      New(v),
		open:   map[string]bool{},
		check:  newChecker(),
		start:  time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		report: func(string, ...any) {},
	}
}

func (p *player) got(events []Event) {
	for _, ev := range events {
		switch ev := ev.(type) {
		case TurnStarted:
			p.open[ev.RequestID] = true
		case TurnEnded:
			delete(p.open, ev.RequestID)
		}
		p.check.event(ev)
		p.events = append(p.events, ev)
		if stops, is := ev.(SubagentStopped); is {
			p.got(p.n.HandleSubagentLines(p.n.now, stops.ID, childLines(p.files[stops.ID])))
			if p.n.HasOpenSubagentCalls(stops.ID) {
				p.got(p.n.EndSubagentFile(p.n.now, stops.ID))
			}
		}
	}
}

// childLines are the lines of a subagent's file.
func childLines(file []byte) (lines []stream.ChildLine) {
	for line := range bytes.Lines(file) {
		if l, ok := stream.DecodeChildLine(line); ok {
			lines = append(lines, l)
		}
	}
	return lines
}

func (p *player) step(s fixture.Step) error {
	now := p.start.Add(s.At)
	p.tick(now)
	switch s.Dir {
	case fixture.ToDroid:
		p.toDroid(now, s.Msg)
	case fixture.FromDroid:
		return p.fromDroid(now, s.Msg)
	case fixture.Note:
		if s.Exited() {
			p.report("droid exited")
			p.got(p.n.DroidExited(now))
		}
	}
	return nil
}

// tick fires everything that is due before now.
func (p *player) tick(now time.Time) {
	if at, ok := p.n.Deadline(); ok && at.Before(now) {
		p.report("tick")
		p.got(p.n.Tick(at))
	}
}

func (p *player) toDroid(now time.Time, line json.RawMessage) {
	var m request
	if json.Unmarshal(line, &m) != nil {
		return // the recordings try nonsense too
	}
	switch {
	case m.Method == "droid.add_user_message" && len(p.open) > 0:
		p.report("prompt %s while a turn runs", m.ID)
	case m.Method == "droid.add_user_message":
		p.report("prompt %s", m.ID)
		p.open[m.ID] = true
		p.check.begin(m.ID)
		p.got(p.n.Begin(now, m.ID, m.Params.Text))
	case m.Method == "droid.interrupt_session":
		p.report("interrupt")
		p.got(p.n.Interrupted(now))
	case m.Method == "" && m.ID != "":
		refused := m.Result == nil || m.Result.Cancelled || m.Result.SelectedOption == stream.OptionCancel
		p.report("answer %s refused=%t", short(m.ID), refused)
		p.check.answer(m.ID)
		p.got(p.n.RequestAnswered(now, m.ID, refused))
	}
}

// request is a line that the client wrote.
type request struct {
	ID     string `json:"id"`
	Method string `json:"method"`
	Params struct {
		Text string `json:"text"`
	} `json:"params"`
	Result *struct {
		SelectedOption string `json:"selectedOption"`
		Cancelled      bool   `json:"cancelled"`
	} `json:"result"`
}

func (p *player) fromDroid(now time.Time, line json.RawMessage) error {
	l, err := new(stream.Decoder).Decode(line, false)
	if err != nil {
		return err
	}
	if !l.Version.IsZero() {
		p.n.SetVersion(l.Version)
	}
	switch {
	case l.Event != nil:
		p.got(p.n.Handle(now, l.Event))
		return nil
	case l.Response.Err != nil && p.open[l.Response.ID]:
		p.report("droid refused %s: %s", l.Response.ID, l.Response.Err.Message)
		delete(p.open, l.Response.ID)
		p.check.abort(l.Response.ID)
		p.got(p.n.Abort(now, l.Response.ID))
		return nil
	}
	var result struct {
		Settings *stream.Settings `json:"settings"`
	}
	if json.Unmarshal(l.Response.Result, &result) == nil && result.Settings != nil {
		p.got(p.n.Settings(*result.Settings))
	}
	return nil
}

// settle lets the time pass until nothing is due.
func (p *player) settle() {
	for at, ok := p.n.Deadline(); ok; at, ok = p.n.Deadline() {
		p.report("tick")
		p.got(p.n.Tick(at))
	}
}

func TestFixtures(t *testing.T) {
	all, err := fixture.LoadAll(fixtures)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			got := playStream(t, c)
			if *update {
				require.NoError(t, c.SetGolden("stream.golden", got))
			}
			require.NoError(t, c.CompareGolden("stream.golden", got))
		})
	}
}

// TestFilesNameFixtures checks that the fixtures named in the heads of the quirk
// files exist.
func TestFilesNameFixtures(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	named := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, name := range regexp.MustCompile(`[a-z_]+_0\.[0-9]+\.txtar`).FindAllString(string(source), -1) {
			named++
			require.FileExists(t, filepath.Join(fixtures, name), file)
		}
	}
	require.Greater(t, named, 20)
}

// playStream plays a fixture and records the client's actions and the events.
func playStream(t *testing.T, c *fixture.Conversation) string {
	t.Helper()
	var b strings.Builder
	p := newPlayer(c.Protocol)
	p.files = c.SessionFiles()
	p.report = func(format string, args ...any) { fmt.Fprintf(&b, "> "+format+"\n", args...) }
	flush := func() {
		for _, ev := range p.events {
			fmt.Fprintln(&b, Describe(ev))
		}
		p.events = nil
	}
	for _, s := range c.Steps {
		require.NoError(t, p.step(s))
		flush()
	}
	p.settle()
	flush()
	require.NoError(t, p.check.err)
	return b.String()
}
