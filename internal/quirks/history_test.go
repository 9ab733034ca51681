package quirks

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fixture"
)

// histories are conversations that end with load_session.
const histories = "../../testdata/history"

// TestHistories records the events of the last load of each conversation.
func TestHistories(t *testing.T) {
	all, err := fixture.LoadAll(histories)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			loads := loaded(t, c.Steps)
			require.NotEmpty(t, loads)
			events := History(loads[len(loads)-1])
			require.NoError(t, checkHistory(events))
			var b strings.Builder
			for _, ev := range events {
				fmt.Fprintln(&b, Describe(ev))
			}
			if *update {
				require.NoError(t, c.SetGolden("history.golden", b.String()))
			}
			require.Equal(t, c.Golden("history.golden"), b.String())
		})
	}
}

// loaded returns the histories that droid sent.
func loaded(t *testing.T, steps []fixture.Step) [][]stream.Message {
	t.Helper()
	var all [][]stream.Message
	for _, s := range steps {
		if s.Dir == fixture.FromDroid && s.Msg[0] == '{' {
			if messages := loadResult(t, s.Msg); len(messages) > 0 {
				all = append(all, messages)
			}
		}
	}
	return all
}

// loadResult returns the history in a line, if it has one.
func loadResult(t *testing.T, line json.RawMessage) []stream.Message {
	t.Helper()
	l, err := new(stream.Decoder).Decode(line, false)
	require.NoError(t, err)
	var info stream.SessionInfo
	if l.Event != nil || len(l.Response.Result) == 0 || json.Unmarshal(l.Response.Result, &info) != nil {
		return nil
	}
	return info.Messages
}

// checkHistory checks what History promises of any messages.
func checkHistory(events []Event) error {
	open, used := map[string]bool{}, map[string]bool{}
	for _, ev := range events {
		switch ev := ev.(type) {
		case ToolStarted:
			if used[ev.ID] {
				return fmt.Errorf("tool %s started twice", ev.ID)
			}
			if !json.Valid(ev.Input) {
				return fmt.Errorf("tool %s has the input %q", ev.ID, ev.Input)
			}
			open[ev.ID], used[ev.ID] = true, true
		case ToolEnded:
			if !open[ev.ID] {
				return fmt.Errorf("tool %s ended, which is not open", ev.ID)
			}
			if ev.Unfinished && (!ev.IsError || len(ev.Content) > 0) {
				return fmt.Errorf("tool %s ended unfinished with a result", ev.ID)
			}
			delete(open, ev.ID)
		case Text:
			if ev.Text == "" {
				return fmt.Errorf("empty text of %s", ev.MessageID)
			}
		case UserText:
			if ev.Text == "" && len(ev.Files) == 0 {
				return fmt.Errorf("empty text of %s", ev.MessageID)
			}
		case UserImage:
			if ev.Data == "" {
				return fmt.Errorf("empty image of %s", ev.MessageID)
			}
		case Notice, AnswerContinues, SubagentEnded, SubagentReported:
		default:
			return fmt.Errorf("a history has no %T", ev)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("tools left open: %v", open)
	}
	return nil
}

// past holds what a history and the preceding live stream must agree on.
type past struct {
	texts map[string]string // by message id, thoughts as "thought of <id>"
	tools []pastTool
}

// pastTool is a call as it ended. Its content is not compared: live, droid
// trims results and puts "Error: " before those of refused tools, or says less
// of a failure; the history has what the model got.
type pastTool struct {
	ID, Name, Input     string
	IsError, Unfinished bool
}

func newPast() *past { return &past{texts: map[string]string{}} }

func (p *past) add(events []Event) {
	for _, ev := range events {
		switch ev := ev.(type) {
		case Text:
			id, _, _ := strings.Cut(ev.MessageID, "~")
			if ev.Thought {
				id = "thought of " + id
			}
			p.texts[id] += ev.Text
		case TextRetracted:
			id, _, _ := strings.Cut(ev.MessageID, "~")
			delete(p.texts, id)
			delete(p.texts, "thought of "+id)
		case ToolStarted:
			p.tools = append(p.tools, pastTool{ID: ev.ID, Name: ev.Name, Input: string(ev.Input)})
		case ToolInput:
			u := p.tool(ev.ID)
			u.Name, u.Input = ev.Name, string(ev.Input)
		case ToolEnded:
			u := p.tool(ev.ID)
			u.IsError, u.Unfinished = ev.IsError, ev.Unfinished
		}
	}
}

func (p *past) tool(id string) *pastTool {
	for i := range p.tools {
		if p.tools[i].ID == id {
			return &p.tools[i]
		}
	}
	return &pastTool{}
}

// keep forgets the texts of messages that droid did not complete: no history
// has them.
func (p *past) keep(complete map[string]bool) {
	for id := range p.texts {
		if !complete[strings.TrimPrefix(id, "thought of ")] {
			delete(p.texts, id)
		}
	}
}

// replayer plays conversations that may go on with each other's sessions.
type replayer struct {
	lives    map[string]*past // what was emitted live, by session
	complete map[string]bool  // assistant messages that were emitted completely
}

func newReplayer() *replayer {
	return &replayer{lives: map[string]*past{}, complete: map[string]bool{}}
}

// play plays a conversation whose droid is restarted for each run, and calls
// load with each history and what was emitted live for the session.
func (r *replayer) play(t *testing.T, steps []fixture.Step, load func(history []stream.Message, live *past)) {
	t.Helper()
	for _, run := range runs(steps) {
		p, live := newPlayer(stream.Version{}), newPast()
		for _, s := range run {
			if s.Msg != nil && s.Msg[0] != '{' {
				continue
			}
			if id := opens(s); id != "" {
				if r.lives[id] == nil {
					r.lives[id] = newPast()
				}
				live = r.lives[id]
			}
			require.NoError(t, p.step(s))
			live.add(p.events)
			p.events = nil
			if s.Dir != fixture.FromDroid {
				continue
			}
			if id := completes(t, s.Msg); id != "" {
				r.complete[id] = true
			}
			if messages := loadResult(t, s.Msg); len(messages) > 0 {
				live.keep(r.complete)
				load(messages, live)
				p.n.Reserve(toolIDs(messages)...)
			}
		}
		p.settle()
		p.got(p.n.DroidExited(p.start.Add(run[len(run)-1].At)))
		live.add(p.events)
	}
}

// opens returns the session that a step opens: the one to load, or the new one.
func opens(s fixture.Step) string {
	var m struct {
		Method string `json:"method"`
		Params struct {
			SessionID string `json:"sessionId"`
		} `json:"params"`
		Result struct {
			SessionID string `json:"sessionId"`
		} `json:"result"`
	}
	switch {
	case s.Msg == nil || json.Unmarshal(s.Msg, &m) != nil: // the recordings try nonsense too
	case s.Dir == fixture.ToDroid && m.Method == "droid.load_session":
		return m.Params.SessionID
	case s.Dir == fixture.FromDroid:
		return m.Result.SessionID
	}
	return ""
}

// completes returns the assistant message that a line has the snapshot of.
func completes(t *testing.T, line json.RawMessage) string {
	t.Helper()
	l, err := new(stream.Decoder).Decode(line, false)
	require.NoError(t, err)
	if ev, ok := l.Event.(stream.MessageCreated); ok && ev.Message.Role == stream.RoleAssistant {
		return ev.Message.ID
	}
	return ""
}

// TestReplayEqualsLive compares every load with what was shown live.
func TestReplayEqualsLive(t *testing.T) {
	all, err := fixture.LoadAll(histories)
	require.NoError(t, err)
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			loads := 0
			newReplayer().play(t, c.Steps, func(messages []stream.Message, live *past) {
				loads++
				again := newPast()
				again.add(History(messages))
				require.Equal(t, live.texts, again.texts)
				require.Equal(t, live.tools, again.tools)
			})
			require.NotZero(t, loads)
		})
	}
}

// TestRecordedLoads does the same with the raw recordings, where much is cut
// out and sessions go on in other files: a text counts when its message was
// seen live, the tools when all messages were.
func TestRecordedLoads(t *testing.T) {
	r := newReplayer()
	loads, texts, tools := 0, 0, 0
	recordings(t, func(path string, steps []fixture.Step) {
		r.play(t, steps, func(messages []stream.Message, live *past) {
			loads++
			events := History(messages)
			require.NoError(t, checkHistory(events), path)
			again, whole := newPast(), true
			again.add(events)
			for id, text := range again.texts {
				said, ok := live.texts[id]
				whole = whole && ok
				if ok {
					texts++
					require.Equal(t, said, text, "%s: message %s", path, id)
				}
			}
			for _, ev := range events {
				if u, ok := ev.(UserText); ok {
					require.NotContains(t, u.Text, "<system-reminder>", path)
				}
			}
			if whole && len(again.texts) > 0 && len(again.tools) > 0 {
				tools++
				require.Subset(t, live.tools, again.tools, path)
			}
		})
	})
	require.Greater(t, loads, 20)
	require.Greater(t, texts, 50)
	require.Greater(t, tools, 5)
	t.Logf("%d loads, %d texts and the tools of %d loads compared", loads, texts, tools)
}

// A call that waits or runs in another process has no result yet, or one that says so. What was not answered at the end
// may go on there.
func TestHistoryEndsWithOpenCalls(t *testing.T) {
	const call = `{"role":"assistant","id":"a","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"c","name":"Execute","input":{}},{"type":"tool_use","id":"d","name":"Execute","input":{}}]}`
	result := func(id, text string) string {
		return `,{"role":"tool","id":"r` + id + `","content":[{"type":"tool_result","toolUseId":"` + id + `","content":"` + text + `"}]}`
	}
	const waits = "__TOOL_RESULT_PENDING__"
	for after, want := range map[string]string{
		"":                                       "cd",
		result("c", waits):                       "cd",
		result("c", "done"):                      "d",
		result("c", "done") + result("d", waits): "d",
		result("c", waits) + result("c", "done"): "d",
		result("c", "done") + result("d", "done"): "",
		`,{"role":"user","id":"u","content":[{"type":"text","text":"on"}]},{"role":"assistant","id":"b","content":[{"type":"text","text":"y"}]}`: "",
	} {
		var messages []stream.Message
		require.NoError(t, json.Unmarshal([]byte("["+call+after+"]"), &messages))
		events := History(messages)
		require.NoError(t, checkHistory(events))
		require.Equal(t, want != "", EndsWithOpenCalls(messages), after)
		require.Equal(t, want != "", MarkElsewhere(events), after)
		open := ""
		for _, ev := range events {
			if end, ok := ev.(ToolEnded); ok && end.Elsewhere {
				open += end.ID
			}
		}
		require.Equal(t, want, open, after)
	}
}
