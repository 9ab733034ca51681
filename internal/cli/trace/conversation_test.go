package trace

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fixture"
	"droid-acp/internal/text/visible"
)

var began = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// traceOf returns a trace of the droid of a fixture.
func traceOf(c *fixture.Conversation) *Trace {
	t := &Trace{Heads: []Head{{Version: "1.0.0", Time: began}}}
	add := func(at time.Duration, r Record) {
		r.Time, r.Agent, r.Peer, r.PID = began.Add(at), 1, Droid, 7
		t.Records = append(t.Records, r)
	}
	add(0, Record{Note: noteStarted})
	for _, s := range c.Steps {
		switch {
		case s.Dir == fixture.ToDroid:
			add(s.At, Record{Dir: Sent, Line: s.Msg})
		case s.Dir == fixture.FromDroid:
			add(s.At, Record{Dir: Received, Line: s.Msg})
		case s.StdinClosed():
			add(s.At, Record{Dir: Sent, Note: noteClosed})
		case s.Exited():
			add(s.At, Record{Dir: Received, Note: noteEnded})
		}
	}
	return t
}

func fixtures(t *testing.T) []*fixture.Conversation {
	all, err := fixture.LoadAll("../../../testdata/fixtures")
	require.NoError(t, err)
	return slices.DeleteFunc(all, func(c *fixture.Conversation) bool { return len(c.SessionFiles()) > 0 }) // which no trace has
}

// What the droid of a fixture said becomes the events that the fixture's golden has.
func TestEventsAreThoseOfTheFixture(t *testing.T) {
	for _, c := range fixtures(t) {
		t.Run(c.Name, func(t *testing.T) {
			var want, got []string
			for line := range strings.Lines(c.Golden("stream.golden")) {
				if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "> ") {
					want = append(want, visible.Line(line))
				}
			}
			for _, row := range New(traceOf(c)).Rows {
				got = append(got, row.Events...)
			}
			require.NotEmpty(t, got)
			require.Equal(t, want[:min(len(got), len(want))], got) // the golden goes on until nothing is due
			require.Less(t, len(want)-len(got), 4)
		})
	}
}

// A fixture that is made of the trace of a fixture has its messages.
func TestFixtureIsMade(t *testing.T) {
	made := 0
	for _, c := range fixtures(t) {
		if c.Protocol.IsZero() {
			continue
		}
		var b bytes.Buffer
		require.NoError(t, traceOf(c).Fixture(&b, "", ""), c.Name)
		path := filepath.Join(t.TempDir(), "made.txtar")
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
		again, err := fixture.Load(path)
		require.NoError(t, err, c.Name)
		require.Equal(t, c.Protocol, again.Protocol, c.Name)
		want, got := messages(t, c.Steps), messages(t, again.Steps)
		if slices.Equal(want, got) {
			made++
		}
	}
	require.Greater(t, made, 50, "some fixtures have a message before the session, or one that droid-acp does not send")
}

// messages are messages of both sides, with their members in order.
func messages(t *testing.T, steps []fixture.Step) (all []string) {
	for _, s := range steps {
		if s.Msg == nil {
			continue
		}
		var m any
		require.NoError(t, json.Unmarshal(s.Msg, &m))
		text, err := json.Marshal(m)
		require.NoError(t, err)
		all = append(all, string(s.Dir)+" "+string(text))
	}
	return all
}

func TestFixtureNeedsABeginning(t *testing.T) {
	tr := &Trace{Heads: []Head{{}}, Records: []Record{{Peer: Droid, PID: 3, Dir: Sent, Line: json.RawMessage(`{"id":"1","method":"droid.load_session"}`)}}}
	require.ErrorContains(t, tr.Fixture(&bytes.Buffer{}, "", ""), "droid 3 did not open a new session in this trace")
	require.ErrorContains(t, tr.Fixture(&bytes.Buffer{}, "4", ""), "no such droid")
}

func TestPathsAreReplacedWhole(t *testing.T) {
	require.Equal(t, `"/home/user/x" /home/user /rooted /$bunfs/root/y "/home/user"`, replacePath(`"/root/x" /root /rooted /$bunfs/root/y "/root"`, "/root", "/home/user"))
	require.Equal(t, "/a", replacePath("/a", "", "/home/user"))
	require.Equal(t, "/a", replacePath("/a", "/home/\xff", "/home/user"), "no UTF-8")
}

const head = `{"droid-acp-trace":1,"about":"…","time":"2026-11-27T12:00:00Z","agent":1,"version":"1.0.0","system":"linux/amd64"}` + "\n"

// lines are a short conversation, as a file has it.
func lines() string {
	var b strings.Builder
	b.WriteString(head)
	at := began
	add := func(rest string) {
		at = at.Add(10 * time.Millisecond)
		b.WriteString(`{"time":"` + at.Format(time.RFC3339Nano) + `","agent":1,` + rest + "}\n")
	}
	const note = `"peer":"droid","pid":7,"dir":"received","line":{"jsonrpc":"2.0","type":"notification","factoryApiVersion":"1.0.0","factoryProtocolVersion":"1.220.0","method":"droid.session_notification","params":{"notification":`
	add(`"peer":"editor","dir":"received","line":{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"prompt":[]}}`)
	add(`"peer":"droid","pid":7,"note":"started"`)
	add(`"peer":"droid","pid":7,"dir":"sent","line":{"jsonrpc":"2.0","id":"p","method":"droid.add_user_message","params":{"text":"go"}}`)
	add(note + `{"type":"create_message","requestId":"p","message":{"id":"u","role":"user","content":[{"type":"text","text":"go"}]}}}}`)
	add(note + `{"type":"assistant_text_delta","messageId":"m","blockIndex":0,"textDelta":"<b>\u001b[2J"}}}`)
	add(`"peer":"editor","dir":"sent","line":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"<b>"}}}}`)
	add(note + `{"type":"tool_call","toolUse":{"id":"t","name":"Read","input":{}}}}}`)
	add(`"peer":"editor","dir":"sent","line":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t"}}}`)
	add(`"peer":"editor","dir":"sent","line":{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}`)
	add(`"lost":3`)
	return b.String()
}

// A person can follow a message of droid to the editor and back; a file that ends in half a line is shown.
func TestTextShowsWhatBecameOfALine(t *testing.T) {
	tr, err := Read([]byte(lines()), []byte("nonsense\n"+`{"time":"2026-11-27T12:00:01Z","agent":1,"pe`))
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, New(tr).Text(&b))
	text := b.String()
	for _, want := range []string{
		"Missing: 3 lines were lost at ", "Missing: the last line is incomplete (44 bytes)\n", "Missing: 1 lines cannot be read\n", About,
		"= turn started, prompt \"p\", message u\n", "= text m \"<b>\\x1b[2J\"\n", "→ 6 agent_message_chunk, 10ms later\n", "← 5\n", "= tool t started: Read {}\n", "→ 8 tool_call, 10ms later\n",
		"editor → agent   session/prompt 1 {\"prompt\":[]}\n", "answer to session/prompt 1, after 80ms: {\"stopReason\":\"cancelled\"}\n", "(3 lines were lost here)\n",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "\x1b")
}

func TestReadRefuses(t *testing.T) {
	_, err := Read([]byte("{\"level\":\"info\"}\n"))
	require.ErrorContains(t, err, "it is no trace")
}

func TestPageHasATimeLine(t *testing.T) {
	tr, err := Read([]byte(lines()))
	require.NoError(t, err)
	c := New(tr)
	var kinds []SpanKind
	for _, s := range c.Spans {
		kinds = append(kinds, s.Kind)
	}
	require.Equal(t, []SpanKind{EditorWaits, AgentAsksDroid, TurnRuns, ToolWorks}, kinds)
	require.False(t, c.Spans[0].Open)
	require.True(t, c.Spans[3].Open)
	var b strings.Builder
	require.NoError(t, c.Page(&b))
	page := b.String()
	for _, want := range []string{"default-src &#39;none&#39;", "<svg", "session/prompt 1, 80ms", "Read t, never ended", `href="#m6"`, "&lt;b&gt;"} {
		require.Contains(t, page, want)
	}
	for _, never := range []string{"<script", "<b>\\", "\x1b"} {
		require.NotContains(t, page, never)
	}
}

// The pieces of a streamed message are folded, and can be linked to; a request that failed is named so.
func TestPageFolds(t *testing.T) {
	tr := &Trace{Records: []Record{{Time: began, Peer: Editor, Dir: Received, Line: json.RawMessage(`{"id":1,"method":"session/prompt"}`)}}}
	for range 5 {
		tr.Records = append(tr.Records, Record{Time: began, Peer: Droid, PID: 7, Dir: Received, Line: json.RawMessage(
			`{"jsonrpc":"2.0","type":"notification","factoryApiVersion":"1.0.0","factoryProtocolVersion":"1.220.0","method":"droid.session_notification","params":` +
				`{"notification":{"type":"assistant_text_delta","messageId":"m","blockIndex":0,"textDelta":"x"}}}`)})
	}
	tr.Records = append(tr.Records, Record{Time: began, Peer: Editor, Dir: Sent, Line: json.RawMessage(`{"id":1,"error":{"code":-32603,"message":"no"}}`)})
	var b strings.Builder
	require.NoError(t, New(tr).Page(&b))
	require.Regexp(t, `<li value="2"><details><summary>.*message m, 5 lines to 6, 0 of them to the editor, in 0s: &#34;xxxxx&#34;</summary><ol><li id="m2" value="2"`, b.String())
	require.Contains(t, b.String(), `<li id="m7" value="7" class="editor">`)
	require.Contains(t, b.String(), "session/prompt 1, 0s, failed")
}

// A tool that failed and a turn that droid's end cut short are named so.
func TestFailedSpans(t *testing.T) {
	whole := lines()
	whole = whole[:strings.Index(whole, `"lost":3`)] + `"peer":"droid","pid":7,"dir":"received","note":"ended"}` + "\n"
	tr, err := Read([]byte(whole))
	require.NoError(t, err)
	var failed []string
	for _, s := range New(tr).Spans {
		if s.Failed {
			failed = append(failed, s.Label)
		}
	}
	require.Equal(t, []string{"turn of prompt p", "Read t"}, failed)
}

// What has nothing to do with anybody waiting is left out of the time line.
func TestPausesAreShort(t *testing.T) {
	c := New(&Trace{Records: []Record{
		{Time: began, Peer: Editor, Dir: Received, Line: json.RawMessage(`{"id":1,"method":"a"}`)},
		{Time: began.Add(time.Minute), Peer: Editor, Dir: Sent, Line: json.RawMessage(`{"id":1,"result":{}}`)},
		{Time: began.Add(time.Hour), Peer: Editor, Dir: Received, Line: json.RawMessage(`{"method":"b"}`)},
	}})
	at, total, paused := c.scale(c.Spans)
	require.Equal(t, time.Minute+shortestPause, total)
	require.Equal(t, time.Hour-time.Minute-shortestPause, paused)
	require.Equal(t, time.Minute, at(began.Add(time.Minute)))
}

// A droid that has ended answers nothing any more; the refusal of a request may not name it.
func TestRequestsOfADroidThatEnded(t *testing.T) {
	at := func(n int) time.Time { return began.Add(time.Duration(n) * time.Second) }
	c := New(&Trace{Records: []Record{
		{Time: at(0), Peer: Droid, PID: 7, Dir: Sent, Line: json.RawMessage(`{"id":"r1","method":"droid.get_version"}`)},
		{Time: at(1), Peer: Droid, PID: 7, Dir: Received, Line: json.RawMessage(`{"id":null,"error":{"code":-32600,"message":"no"}}`)},
		{Time: at(2), Peer: Droid, PID: 7, Dir: Sent, Line: json.RawMessage(`{"id":"r2","method":"droid.add_user_message"}`)},
		{Time: at(3), Peer: Droid, PID: 7, Dir: Received, Note: noteEnded},
		{Time: at(9), Peer: Editor, Dir: Received, Line: json.RawMessage(`{"method":"b"}`)},
	}})
	require.Equal(t, at(1), c.Spans[0].End)
	require.False(t, c.Spans[0].Open)
	require.Equal(t, at(3), c.Spans[1].End)
	require.True(t, c.Spans[1].Open)
}

// What an agent sent is linked with lines of its own droids alone.
func TestLinksOfSeveralAgents(t *testing.T) {
	delta := json.RawMessage(`{"jsonrpc":"2.0","type":"notification","factoryApiVersion":"1.0.0","factoryProtocolVersion":"1.220.0","method":"droid.session_notification","params":` +
		`{"notification":{"type":"assistant_text_delta","messageId":"m","blockIndex":0,"textDelta":"x"}}}`)
	chunk := json.RawMessage(`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","messageId":"m"}}}`)
	c := New(&Trace{Records: []Record{
		{Time: began, Agent: 1, Peer: Droid, PID: 7, Dir: Received, Line: delta},
		{Time: began, Agent: 2, Peer: Droid, PID: 8, Dir: Received, Line: delta},
		{Time: began, Agent: 2, Peer: Editor, Dir: Sent, Line: chunk},
		{Time: began, Agent: 1, Peer: Editor, Dir: Sent, Line: chunk},
	}})
	require.Equal(t, []*Row{c.Rows[3]}, c.Rows[0].Rows)
	require.Equal(t, []*Row{c.Rows[2]}, c.Rows[1].Rows)
	require.Equal(t, []string{"agent 1", "editor", "agent 2"}, []string{c.Rows[0].To, c.Rows[2].To, c.Rows[2].From})
}
