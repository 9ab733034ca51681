package session_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/text/rawjson"
)

const takesSubagents = `{"subagents":{}}`

// story summarizes the updates of a session and of its subagents: the session, the kind and a part of the content.
func (e *editor) story() (lines []string) {
	names := map[string]string{e.session: "droid"}
	chunk := "" // whose text the last line has, and which
	for _, m := range e.received() {
		var p struct {
			SessionID string
			Update    struct {
				SessionUpdate, SessionID, Title, Description, Status, SenderSessionID, MessageID string
				State                                                                            struct{ State, StopReason string }
				Content                                                                          json.RawMessage
			}
			ToolCall struct{ Title string }
		}
		_ = json.Unmarshal(m.Params, &p)
		u := p.Update
		if u.SessionUpdate == "subagent_update" && names[u.SessionID] == "" {
			names[u.SessionID] = fmt.Sprint("sub", len(names))
		}
		who := names[p.SessionID]
		if who == "" {
			who = "UNKNOWN " + p.SessionID
		}
		switch {
		case m.Method == "session/request_permission":
			lines = append(lines, who+" asks: "+p.ToolCall.Title)
		case u.SessionUpdate == "subagent_update":
			lines = append(lines, strings.Join(strings.Fields(fmt.Sprintf("%s of %s: %s %s %s %s", names[u.SessionID], who, u.Title, u.Description, u.State.State, u.State.StopReason)), " "))
		case u.SessionUpdate == "session_message":
			lines = append(lines, who+" hears of "+names[u.SenderSessionID]+": "+string(u.Content))
		case strings.HasSuffix(u.SessionUpdate, "_chunk"):
			text := strings.TrimSpace(textOf(rawjson.Field(m.Params, "update")))
			if this := who + u.SessionUpdate + u.MessageID; this == chunk { // more of a text that came in parts
				lines[len(lines)-1] += " " + text
			} else if text != "" {
				lines = append(lines, who+" "+text)
				chunk = this
			}
			continue
		case strings.HasPrefix(u.SessionUpdate, "tool_call"):
			if text := strings.Join(strings.Fields(u.Title+" "+u.Status), " "); text != "" {
				lines = append(lines, who+" "+text)
			}
		case m.Result != nil && strings.Contains(string(m.Result), "stopReason"):
			lines = append(lines, "response")
		}
		chunk = ""
	}
	return lines
}

// textOf returns the text of an update's content, "" if it has none.
func textOf(update json.RawMessage) string {
	return rawjson.Unquote(rawjson.Field(rawjson.Field(update, "content"), "text"))
}

// subagentEditor is an editor that shows subagents as sessions.
func subagentEditor(t *testing.T, root string, start starter) *editor {
	t.Helper()
	e := open(t, start)
	e.agent.Config.Store = store.New(root, zap.NewNop())
	require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+takesSubagents+`,`+asZed+`}`).Error)
	e.beginSession()
	return e
}

const lookPrompt = `[{"type":"text","text":"look"}]`

// A subagent that droid waits for is announced before its updates, which have its ID, as do its requests; then it becomes idle. Its calls
// have their own IDs, and none of them appears among droid's.
func TestSubagentAsASession(t *testing.T) {
	for answer, end := range map[string]string{"yes": "completed", "no": "failed"} {
		bubble(t, func(t *testing.T) {
			root := t.TempDir()
			e := subagentEditor(t, root, playing(fakedroid.EachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
				s := d.NewSubagent("look", root)
				err := d.Task("On it. ", func() error {
					tool := touch
					tool.ID = s.Call // its model may use the same id
					tool.Result = "done"
					if err := s.Write(fakedroid.Fields{"type": "message", "id": "p", "message": fakedroid.Fields{"role": "user", "content": []fakedroid.Fields{{"type": "text", "text": "# Task Tool Invocation"}}}}, s.Calls("Let me do that. ", tool)); err != nil {
						return err
					}
					id, err := d.Asks(s, tool)
					if err == nil {
						err = answeredFor(d, s, id, tool)
					}
					return err
				}, s)
				if err != nil {
					return err
				}
				return d.Say("", "So it is.")
			}), fakedroid.WithVersion(fakedroid.V0225)))
			if answer == "no" {
				e.ask = rejectOnce
			}
			require.Equal(t, "end_turn", e.run("go"))
			time.Sleep(time.Minute)
			story := e.story()
			t.Log(strings.Join(story, "\n"))
			in := func(line string) int {
				t.Helper()
				i := slices.Index(story, line)
				require.GreaterOrEqual(t, i, 0, line)
				return i
			}
			order := []int{in("droid Task look pending"), in("sub1 of droid: worker look running"), in("sub1 hears of droid: " + lookPrompt), in("sub1 of droid: requires_action"),
				in("sub1 asks: touch a"), in("sub1 of droid: running"), in("sub1 found it"), in("sub1 of droid: idle end_turn"), in("droid So it is."), in("response")}
			require.True(t, slices.IsSorted(order), "%v", order)
			in("sub1 Let me do that.")
			in("sub1 " + end)
			require.NotContains(t, strings.Join(story, "\n"), "UNKNOWN")
			require.NotContains(t, strings.Join(story, "\n"), "Task Tool Invocation")
			require.NotContains(t, e.task().text, "touch", "no steps below the call of Task")
			require.NotContains(t, strings.Join(story, "\n"), "Subagent *look* asks")
			e.noCallOpen()
			require.Nil(t, e.call("session/list", `{}`).Error)
		})
	}
}

// A subagent in the background continues after the response, and is idle once it has reported.
func TestSubagentSessionInBackground(t *testing.T) {
	bubble(t, func(t *testing.T) {
		root := t.TempDir()
		child := ""
		e := subagentEditor(t, root, playing(launches(root, func(d *fakedroid.Droid, s *fakedroid.Subagent) error {
			child = s.ID
			half := `{"type":"message","id":"h","message":{"role":"assistant","content":[{"type":"text","te`
			return inTurn(func() error { return s.WriteText(half) }, func() error { return d.Pause(time.Minute) }, func() error { return s.WriteText(`xt":"half and half"}]}}` + "\n") },
				func() error { return worksOn(d, s, "done") }, func() error { return reportsDone(d, s) })
		}), fakedroid.WithVersion(fakedroid.V0225)))
		require.Equal(t, "end_turn", e.run("go"))
		time.Sleep(10 * time.Second)
		require.NotContains(t, strings.Join(e.story(), "\n"), "half")
		e.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, child))
		require.Equal(t, -32002, e.call("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"x"}]}`, child)).Error.Code)
		time.Sleep(2 * time.Minute)
		story := e.story()
		t.Log(strings.Join(story, "\n"))
		at := slices.Index(story, "response")
		require.Greater(t, slices.Index(story, "sub1 half and half"), at)
		require.Less(t, slices.Index(story, "sub1 of droid: worker look running"), at)
		require.Greater(t, slices.Index(story, "sub1 of droid: idle end_turn"), slices.Index(story, "sub1 found it"))
		require.Equal(t, "completed", e.callOf(".t1").status)
		e.noCallOpen()
	})
}

// Air gets the draft that it knows, whichever capability it declares: a subagent and its prompt are announced at once, and its end is final.
func TestSubagentSessionsForAir(t *testing.T) {
	for _, declares := range []string{
		`{"subagents":{},"_meta":{"jetbrains":{"air":{"version":1,"capabilities":[]}}}}`,
		`{"_meta":{"jetbrains":{"air":{"version":1,"capabilities":["nativeSubagentSessions"]}}}}`,
	} {
		bubble(t, func(t *testing.T) {
			root := t.TempDir()
			e := open(t, playing(launches(root, func(d *fakedroid.Droid, s *fakedroid.Subagent) error {
				return inTurn(func() error { return worksOn(d, s, "done") }, func() error { return reportsDone(d, s) })
			}), fakedroid.WithVersion(fakedroid.V0225)))
			e.agent.Config.Store = store.New(root, zap.NewNop())
			initialized := e.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+declares+`,`+asZed+`}`)
			require.Contains(t, string(initialized.Result), `"capabilities":["nativeSubagentSessions"]`)
			require.Contains(t, string(initialized.Result), `"subagents":{}`)
			e.beginSession()
			updates := func() (updates []string) {
				for _, m := range e.received() {
					var p struct {
						SessionID string
						Update    struct{ SubagentSessionID string }
					}
					_ = json.Unmarshal(m.Params, &p)
					require.NotContains(t, m.Raw, "subagent_update")
					require.NotContains(t, m.Raw, "session_message")
					raw := rawjson.Field(m.Params, "update")
					switch child := p.Update.SubagentSessionID; {
					case child != "":
						updates = append(updates, strings.ReplaceAll(string(raw), child, "CHILD"))
					case m.Method == "session/request_permission" || p.SessionID != e.session && strings.Contains(string(raw), "_chunk"):
						updates = append(updates, map[bool]string{true: "droid", false: "CHILD"}[p.SessionID == e.session]+" "+cmp.Or(textOf(raw), "asks"))
					}
				}
				return updates
			}
			want := []string{
				`{"sessionUpdate":"subagent_spawned","subagentSessionId":"CHILD","name":"worker","task":"look","prompt":"look","capabilities":{}}`,
				"CHILD Let me do that. ", "CHILD asks", "CHILD found it", `{"sessionUpdate":"subagent_state_update","subagentSessionId":"CHILD","state":"completed"}`,
			}
			require.Equal(t, "end_turn", e.run("go"))
			time.Sleep(time.Minute)
			require.Equal(t, want, updates())
			e.forgetLines()
			require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
			require.Equal(t, slices.Delete(slices.Clone(want), 2, 3), updates(), "replayed")
		})
	}
}

// A load replays the subagents after their calls and before the response: what they did, and how they ended, if known. A working one
// continues.
func TestLoadOfSubagentSessions(t *testing.T) {
	for name, last := range map[string]string{"works": "running", "reported": "idle end_turn", "gone": "idle"} {
		t.Run(name, inBubble(func(t *testing.T) {
			root, sessions := t.TempDir(), fakedroid.WithSessions(new(fakedroid.Sessions))
			e := subagentEditor(t, root, func(n int) (*droid.Client, error) {
				if n > 1 {
					return fakeDroid(says("hello"), sessions), nil
				}
				return fakeDroid(launches(root, func(d *fakedroid.Droid, s *fakedroid.Subagent) error {
					if err := s.Write(s.Calls("First. ", touch)); err != nil {
						return err
					}
					if name == "reported" {
						if err := inTurn(func() error { return s.Write(s.Result(touch), s.Answer("found it"), s.Outcome("completed")) }, func() error { return reportsDone(d, s) }); err != nil {
							return err
						}
					}
					if err := d.Pause(5 * time.Second); err != nil {
						return err
					}
					if name == "gone" {
						return d.Die(137, "")
					}
					return inTurn(func() error { return d.Pause(time.Minute) }, func() error { return s.Write(s.Answer("Later.")) }, func() error { return d.Pause(time.Hour) })
				}), sessions), nil
			})
			require.Equal(t, "end_turn", e.run("go"))
			time.Sleep(map[bool]time.Duration{true: 8 * time.Second, false: 3 * time.Second}[name == "gone"])
			if name == "gone" {
				require.Contains(t, e.story(), "sub1 of droid: idle error")
			}
			e.forgetLines()
			require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
			story := e.story()
			t.Log(strings.Join(story, "\n"))
			require.Contains(t, e.received()[len(e.received())-1].Raw, `"result"`, "the response is the last")
			first := slices.Index(story, "sub1 of droid: worker look running")
			require.GreaterOrEqual(t, first, 0)
			require.Equal(t, "sub1 hears of droid: "+lookPrompt, story[first+1])
			require.Greater(t, slices.Index(story, "sub1 First."), first)
			require.Contains(t, story, "sub1 touch a pending", "shown anew")
			state := ""
			for _, line := range story {
				if s, is := strings.CutPrefix(line, "sub1 of droid: "); is {
					state = strings.TrimPrefix(s, "worker look ")
				}
			}
			require.Equal(t, last, state)
			require.Equal(t, 1, strings.Count(strings.Join(story, "\n"), "sub1 First."))
			time.Sleep(2 * time.Minute)
			require.Equal(t, name == "works", slices.Contains(e.story(), "sub1 Later."))
			require.Equal(t, 1, strings.Count(strings.Join(e.story(), "\n"), "sub1 First."), "nothing comes again")

			e.forgetLines()
			require.Nil(t, e.call("session/resume", sessionParamsOf(e.session)).Error)
			time.Sleep(time.Second)
			require.Equal(t, name == "works", slices.Contains(e.story(), "sub1 of droid: worker look running"), "%v", e.story())
		}))
	}
}

// A load while a subagent asks: the question stays, under the same call.
func TestLoadWhileASubagentSessionAsks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		root := t.TempDir()
		e := subagentEditor(t, root, playing(launches(root, func(d *fakedroid.Droid, s *fakedroid.Subagent) error {
			return inTurn(func() error { return worksOn(d, s, "done") }, func() error { return d.Pause(time.Hour) })
		}), fakedroid.WithSessions(new(fakedroid.Sessions))))
		answer := make(chan string, 1)
		e.onAsk = func(id, _ json.RawMessage) bool { answer <- string(id); return true }
		require.Equal(t, "end_turn", e.run("go"))
		id := <-answer
		time.Sleep(time.Second)
		e.forgetLines()
		require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
		story := e.story()
		require.Contains(t, story, "sub1 touch a pending")
		require.Equal(t, "sub1 of droid: requires_action", story[len(story)-1])
		e.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"outcome":{"outcome":"selected","optionId":"proceed_once"}}}`)
		time.Sleep(time.Minute)
		story = e.story()
		t.Log(strings.Join(story, "\n"))
		require.Contains(t, story, "sub1 of droid: running")
		require.Equal(t, "completed", e.callOf(".t1").status, "the same call")
		e.noCallOpen()
	})
}

// A client that does not declare subagents gets no updates about them.
func TestNoSubagentSessions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		root := t.TempDir()
		e := beginOn(t, root, playing(launches(root, func(d *fakedroid.Droid, s *fakedroid.Subagent) error {
			return inTurn(func() error { return worksOn(d, s, "done") }, func() error { return reportsDone(d, s) })
		})))
		require.Equal(t, "end_turn", e.run("go"))
		time.Sleep(time.Minute)
		require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
		for _, m := range e.received() {
			require.NotContains(t, m.Raw, "subagent_update")
			require.NotContains(t, m.Raw, "session_message")
		}
		require.NotContains(t, strings.Join(e.story(), "\n"), "UNKNOWN")
	})
}
