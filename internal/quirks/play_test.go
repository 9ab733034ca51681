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
			p.got(p.n.Exited(now))
		}
	}
	return nil
}

// tick fires what is due before now.
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

// playStream plays a fixture and writes down what the client did and what came.
func playStream(t *testing.T, c *fixture.Conversation) string {
	t.Helper()
	var b strings.Builder
	p := newPlayer(c.Protocol)
	p.files = c.SessionFiles()
	p.report = func(format string, args ...any) { fmt.Fprintf(&b, "> "+format+"\n", args...) }
	flush := func() {
		for _, ev := range p.events {
			fmt.Fprintln(&b, describe(ev))
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

// short cuts a UUID to its first part and keeps a suffix such as "~2", or the id of a subagent's call.
func short(id string) string {
	if subagent, call, is := strings.Cut(id, "."); is {
		return short(subagent) + "." + call
	}
	base, suffix, _ := strings.Cut(id, "~")
	if len(base) == 36 && strings.Count(base, "-") == 4 {
		base = base[:8]
	}
	if suffix != "" {
		return base + "~" + suffix
	}
	return base
}

func compact(raw json.RawMessage) string {
	s := string(raw)
	if len(s) > 160 {
		s = fmt.Sprintf("%s… (%d bytes)", s[:150], len(s))
	}
	return strings.ReplaceAll(s, "\n", " ")
}

// describe writes an event on one line.
func describe(ev Event) string {
	switch ev := ev.(type) {
	case TurnStarted:
		return fmt.Sprintf("turn started, prompt %q, message %s", ev.RequestID, short(ev.MessageID))
	case PromptMerged:
		return fmt.Sprintf("prompt %q folded, message %s", ev.RequestID, short(ev.MessageID))
	case Text:
		kind := "text"
		if ev.Thought {
			kind = "thought"
		}
		return fmt.Sprintf("%s %s %q", kind, short(ev.MessageID), ev.Text)
	case AnswerContinues:
		return "the answer continues"
	case TextRetracted:
		return "text retracted " + short(ev.MessageID)
	case TextRestarted:
		return fmt.Sprintf("text %s holds from byte %d of text and %d of thought: %q", short(ev.MessageID), ev.Void, ev.VoidThought, ev.Text)
	case UserText:
		line := fmt.Sprintf("user %s %q", short(ev.MessageID), ev.Text)
		for i, f := range ev.Files {
			line += fmt.Sprintf("%s %q %s", []string{" with", ","}[min(i, 1)], f.Name, f.MediaType)
		}
		return line
	case UserImage:
		return fmt.Sprintf("user %s image %s, %d bytes of base64", short(ev.MessageID), ev.MediaType, len(ev.Data))
	case Notice:
		return fmt.Sprintf("notice %q", ev.Text)
	case ToolStarted:
		return fmt.Sprintf("tool %s started: %s %s", short(ev.ID), ev.Name, compact(ev.Input))
	case ToolInput:
		return fmt.Sprintf("tool %s input: %s %s", short(ev.ID), ev.Name, compact(ev.Input))
	case ToolRunning:
		return fmt.Sprintf("tool %s runs", short(ev.ID))
	case ToolProgress:
		return fmt.Sprintf("tool %s progress %s %q full %q", short(ev.ID), ev.Update.Type, ev.Update.Text, ev.Update.FullOutput)
	case ToolEnded:
		switch {
		case ev.Unfinished && !ev.IsError:
			return fmt.Sprintf("tool %s ended, it is not known how", short(ev.ID))
		case ev.Unfinished:
			return fmt.Sprintf("tool %s ended unfinished", short(ev.ID))
		case ev.Background:
			return fmt.Sprintf("tool %s ended, its subagent goes on", short(ev.ID))
		case ev.IsError:
			return fmt.Sprintf("tool %s failed %s", short(ev.ID), compact(ev.Content))
		}
		return fmt.Sprintf("tool %s ended %s", short(ev.ID), compact(ev.Content))
	case PermissionRequested:
		var tools, options []string
		for _, u := range ev.Tools {
			tools = append(tools, fmt.Sprintf("%s %s (%s)", short(u.ToolUse.ID), u.ToolUse.Name, u.Confirmation))
		}
		for _, o := range ev.Options {
			options = append(options, o.Value)
		}
		by := ""
		if ev.Subagent != "" {
			by = fmt.Sprintf(" by subagent %q", ev.Subagent)
		}
		return fmt.Sprintf("permission %s asked%s for %s; options %s", short(ev.RequestID), by, strings.Join(tools, ", "), strings.Join(options, " "))
	case QuestionRequested:
		var questions []string
		for _, q := range ev.Questions {
			questions = append(questions, fmt.Sprintf("%q %q", q.Question, q.Options))
		}
		return fmt.Sprintf("question %s asked by %s: %s", short(ev.RequestID), short(ev.ToolID), strings.Join(questions, ", "))
	case RequestWithdrawn:
		return "ask withdrawn " + short(ev.RequestID)
	case SubagentStarted:
		return "subagent " + short(ev.ID) + " began"
	case SubagentAsks:
		return "subagent " + short(ev.ID) + " is about to ask"
	case InSubagent:
		return short(ev.ID) + ": " + describe(ev.Event)
	case SubagentSteps:
		var steps []string
		for _, step := range ev.Steps {
			steps = append(steps, strings.TrimSpace(step.Text+step.Tool+" "+compact(step.Input)+compact(step.Failed)))
		}
		return fmt.Sprintf("subagent %s of %s: %s", short(ev.ID), ev.ToolID, strings.Join(steps, "; "))
	case SubagentStopped:
		return "subagent " + short(ev.ID) + " stops"
	case SubagentEnded:
		return fmt.Sprintf("subagent %s ended, of %q, named %q, gone %t, reason %q: %q", short(ev.ID), ev.ToolID, ev.Name, ev.Gone, ev.Reason, ev.Answer)
	case SubagentReported:
		return fmt.Sprintf("subagent %s reports, named %q, reason %q", short(ev.ID), ev.Name, ev.Reason)
	case SettingsChanged:
		return fmt.Sprintf("settings model=%s effort=%s mode=%s", or(ev.Settings.ModelID), or(ev.Settings.ReasoningEffort), ev.Settings.Mode())
	case TitleChanged:
		return fmt.Sprintf("title %q", ev.Title)
	case UsageChanged:
		return fmt.Sprintf("usage in=%d out=%d", ev.Total.InputTokens, ev.Total.OutputTokens)
	case Retrying:
		return fmt.Sprintf("retrying, attempt %d, %s", ev.Attempt, ev.Reason)
	case ConcurrentTurn:
		return fmt.Sprintf("a turn beside prompt %q", ev.RequestID)
	case PromptDropped:
		return fmt.Sprintf("discarded prompt %q: %q", ev.RequestID, ev.Text)
	case TurnEnded:
		s := fmt.Sprintf("turn ended, prompt %q, %s, reason %q", ev.RequestID, ev.Outcome, ev.Reason)
		if f := ev.Failure; f != nil {
			s += fmt.Sprintf(", failure %s %s %q advice %q", f.Reason, f.Name, f.Message, f.Advice)
		}
		return s
	case Other:
		return "other " + ev.Event.Kind()
	}
	return fmt.Sprintf("%#v", ev)
}

func or(s *string) string {
	if s == nil {
		return "?"
	}
	return *s
}
