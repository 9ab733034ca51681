package render

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

func progress(id, text string) quirks.Event {
	return quirks.ToolProgress{ID: id, Update: stream.ProgressUpdate{Text: text}}
}

func TestCall(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	require.False(t, d.Busy())
	require.Empty(t, d.event(started("t", "Read", `{}`)), "its input is not known")
	require.True(t, d.Busy())
	require.Equal(t, []string{"t"}, d.ToolIDs())
	require.Equal(t, []string{"tool_call t pending Read a.txt"}, d.event(quirks.ToolInput{ID: "t", Name: "Read", Input: json.RawMessage(`{"file_path":"a.txt"}`)}))
	require.Equal(t, []string{"tool_call_update t in_progress"}, d.event(ran("t"), ran("t")))
	require.Equal(t, []string{"tool_call_update t = half"}, d.event(progress("t", "half"), progress("t", "")))
	require.Equal(t, []string{"tool_call_update t = bad"}, d.event(quirks.ToolProgress{ID: "t", Update: stream.ProgressUpdate{Error: "bad"}}))
	require.Equal(t, []string{"tool_call_update t completed = all"}, d.event(ended("t", "Read", "all")))
	require.False(t, d.Busy())
	require.Equal(t, []string{"t"}, d.ToolIDs(), "its id is taken for good")
	require.Empty(t, d.event(quirks.TurnEnded{}))
}

func TestEndsOfCalls(t *testing.T) {
	failed := ended("t", "LS", "no")
	failed.IsError = true
	unfinished := quirks.ToolEnded{ID: "t", Name: "LS", IsError: true, Unfinished: true}
	for want, ev := range map[string]quirks.ToolEnded{
		"tool_call_update t failed = no":               failed,
		"tool_call_update t failed":                    unfinished,
		"tool_call_update t failed = Unknown tool: LS": ended("t", "LS", "Unknown tool: LS"),
		"tool_call_update t completed = fine":          ended("t", "LS", "fine"),
	} {
		d := newHarness(protocol.ClientCapabilities{})
		d.event(started("t", "LS", `{}`), ran("t"))
		require.Equal(t, []string{want}, d.event(ev))
	}
	require.Equal(t, []string{"tool_call_update t completed = fine"}, newHarness(protocol.ClientCapabilities{}).event(ended("t", "LS", "fine")), "of a call that nobody began")
}

// A call is announced when its input is known, after a moment, or before what follows it.
func TestAnnouncements(t *testing.T) {
	for name, next := range map[string]quirks.Event{
		"it runs":         ran("t"),
		"it reports":      progress("t", "x"),
		"it ends":         ended("t", "LS", "x"),
		"the model talks": quirks.Text{MessageID: "a", Text: "x"},
		"the turn ends":   quirks.TurnEnded{},
		"a prompt":        quirks.UserText{MessageID: "u", Text: "x"},
		"a question":      quirks.QuestionRequested{ToolID: "t"},
		"a permission":    quirks.PermissionRequested{Tools: []stream.PermissionToolUse{{ToolUse: stream.ToolUse{ID: "t"}}}},
	} {
		for _, client := range []protocol.ClientCapabilities{{}, {ClientProfile: protocol.ClientProfile{KeepsFirstTitle: true}}} {
			d := newHarness(client)
			require.Empty(t, d.event(started("t", "LS", `{"path":"b"}`)))
			require.Equal(t, "tool_call t pending LS b", d.event(next)[0], name)
			require.Empty(t, d.unannounced, name)
		}
	}
	for name, next := range map[string]quirks.Event{
		"another call runs": ran("u"), "settings": quirks.SettingsChanged{}, "another permission": quirks.PermissionRequested{}, "retries": quirks.RequestWithdrawn{},
	} {
		d := newHarness(protocol.ClientCapabilities{})
		d.event(started("t", "LS", `{}`))
		d.event(next)
		require.Len(t, d.unannounced, 1, name)
	}
}

func TestAnnouncedAfterAMoment(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	_, waits := d.Due()
	require.False(t, waits)
	d.event(started("t", "LS", `{}`))
	d.now = d.now.Add(time.Millisecond)
	d.event(started("u", "LS", `{}`))
	at, waits := d.Due()
	require.True(t, waits)
	require.Equal(t, d.now.Add(announceAfter-time.Millisecond), at, "the first")
	require.Empty(t, d.pass(announceAfter-2*time.Millisecond))
	require.Equal(t, []string{"tool_call t pending LS"}, d.pass(time.Millisecond))
	require.Equal(t, []string{"tool_call u pending LS"}, d.pass(time.Millisecond))
	require.Equal(t, []string{"tool_call_update t LS b"}, d.event(quirks.ToolInput{ID: "t", Name: "LS", Input: json.RawMessage(`{"path":"b"}`)}))
	_, waits = d.Due()
	require.False(t, waits)
	d.event(started("v", "LS", `{}`))
	require.Equal(t, []string{"tool_call_update t LS c"}, d.event(quirks.ToolInput{ID: "t", Name: "LS", Input: json.RawMessage(`{"path":"c"}`)}), "another one is held")

	d = newHarness(protocol.ClientCapabilities{ClientProfile: protocol.ClientProfile{KeepsFirstTitle: true}})
	d.event(started("t", "LS", `{}`))
	_, waits = d.Due()
	require.False(t, waits, "a title that never changes is waited for")
	require.Empty(t, d.pass(time.Hour))
}

func TestPlanOfTodos(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	run := []quirks.Event{started("t", "TodoWrite", `{"todos":"1. [pending] a"}`), ran("t"), progress("t", "x"),
		quirks.ToolInput{ID: "t", Name: "TodoWrite", Input: json.RawMessage(`{"todos":"1. [completed] a\n2. [pending] b"}`)}}
	require.Empty(t, d.event(run...))
	require.Equal(t, []string{"plan of 2"}, d.event(ended("t", "TodoWrite", "ok")))
	d.event(run...)
	require.Empty(t, d.event(quirks.ToolEnded{ID: "t", Name: "TodoWrite", IsError: true, Unfinished: true}))
	d.event(run...)
	refused := ended("t", "TodoWrite", "no")
	refused.IsError = true
	require.Equal(t, []string{"tool_call t failed TodoWrite = no"}, d.event(refused))
	d.event(started("t", "TodoWrite", `{"todos":7}`))
	require.Equal(t, []string{"tool_call t completed TodoWrite = ok"}, d.event(ended("t", "TodoWrite", "ok")), "nobody can read it")
}

func TestTaskSteps(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	step := func(u stream.ProgressUpdate) []string { return d.event(quirks.ToolProgress{ID: "t", Update: u}) }
	d.event(started("t", "Task", `{"description":"Look"}`), ran("t"))
	require.Equal(t, []string{"tool_call_update t = - begun\n"}, step(stream.ProgressUpdate{Type: "status", Text: "begun"}))
	require.Empty(t, step(stream.ProgressUpdate{Type: "status", Text: "begun"}), "again")
	require.Empty(t, step(stream.ProgressUpdate{Type: "tool_result", ToolName: "Read", Status: "completed"}))
	require.Equal(t, []string{"tool_call_update t = - begun\n- ❌ `Read` no\n"},
		step(stream.ProgressUpdate{Type: "tool_result", ToolName: "Read", Status: "error", Details: json.RawMessage(`"no"`)}))
	require.Equal(t, []string{"tool_call_update t completed = - begun\n- ❌ `Read` no\n|found"}, d.event(ended("t", "Task", "found")))
	d.event(started("t", "Task", `{}`), ran("t"))
	require.Equal(t, []string{"tool_call_update t completed = found"}, d.event(ended("t", "Task", "found")), "without steps")
	d.event(started("t", "Task", `{}`), ran("t"))
	require.Equal(t, []string{"tool_call_update t failed"}, d.event(quirks.ToolEnded{ID: "t", IsError: true, Unfinished: true}), "the steps stay")
}

// A client that takes an update without a status for the end of its call gets the status with each update.
func TestUpdatesOfCallsThatWouldEndThem(t *testing.T) {
	for name, each := range map[string]bool{"vscode-acp-client": true, "agent-shell": false, "zed": false} {
		status := func(s string) string {
			if each {
				return " " + s
			}
			return ""
		}
		d := newHarness(protocol.ParseCapabilities(nil, []byte(`{"name":"`+name+`"}`)))
		d.event(started("t", "Task", `{"description":"look"}`), ran("t"))
		require.Equal(t, []string{"tool_call_update t" + status("in_progress") + " = - I look.\n"},
			d.event(quirks.SubagentSteps{ID: "s", ToolID: "t", Steps: []quirks.Step{{Text: "I look."}}}), name)
		d.event(started("e", "Execute", `{"command":"make"}`), ran("e"))
		require.Equal(t, []string{"tool_call_update e" + status("in_progress") + " = ```console\none\n```"},
			d.event(quirks.ToolProgress{ID: "e", Update: stream.ProgressUpdate{FullOutput: "one\n"}}), name)
		d.event(started("q", "AskUser", "null"))
		d.pass(time.Hour)
		require.Equal(t, []string{"tool_call_update q" + status("pending") + " AskUser"}, d.event(quirks.ToolInput{ID: "q", Name: "AskUser", Input: []byte(`{"question":"Why?"}`)}), name)
	}
}

func TestCommandWithoutATerminal(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	output := func(text string) []string {
		return d.event(quirks.ToolProgress{ID: "t", Update: stream.ProgressUpdate{FullOutput: text}})
	}
	require.Equal(t, []string{"tool_call t pending make", "tool_call_update t in_progress"}, d.event(started("t", "Execute", `{"command":"make"}`), ran("t")))
	require.Equal(t, []string{"tool_call_update t = ```console\none\n```"}, output("one\n"))
	require.Empty(t, output("one\n"), "nothing new")
	require.Empty(t, output("one\ntwo\n"), "too soon")
	at, waits := d.Due()
	require.True(t, waits)
	require.Equal(t, d.now.Add(OutputEvery), at)
	require.Empty(t, d.pass(OutputEvery-1))
	require.Equal(t, []string{"tool_call_update t = ```console\none\ntwo\n```"}, d.pass(1))
	_, waits = d.Due()
	require.False(t, waits)

	d.now = d.now.Add(OutputEvery)
	require.Empty(t, d.Event(Moment{Now: d.now}, quirks.ToolProgress{ID: "t", Update: stream.ProgressUpdate{FullOutput: "one\ntwo\nthree\n"}}, nil), "the editor reads nothing")
	d.now = d.now.Add(OutputEvery)
	require.Empty(t, d.Tick(Moment{Now: d.now}))
	require.Empty(t, d.pass(OutputEvery-1), "it is asked again after the same time")
	require.Equal(t, []string{"tool_call_update t = ```console\none\ntwo\nthree\n```"}, d.pass(1))
	output("one\ntwo\nthree\nfour\n")
	require.Equal(t, []string{"tool_call_update t = ```console\none\ntwo\nthree\nfour\n```", "tool_call_update t failed"},
		d.event(quirks.ToolEnded{ID: "t", Name: "Execute", IsError: true, Unfinished: true}), "what was not shown yet")
}

func TestCommandInATerminal(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{TerminalOutput: true})
	out := d.Event(d.moment(), started("t", "Execute", `{"command":"make"}`), nil)
	out = append(out, d.Event(d.moment(), ran("t"), nil)...)
	require.Equal(t, &protocol.ToolMeta{TerminalInfo: &protocol.TerminalInfo{TerminalID: "t", CWD: "/workspace"}}, out[0].(protocol.ToolCall).Meta)
	require.Equal(t, []string{"tool_call t pending make = terminal", "tool_call_update t in_progress = terminal"}, short(out))
	report := func(u stream.ProgressUpdate) []string { return d.event(quirks.ToolProgress{ID: "t", Update: u}) }
	require.Equal(t, []string{"tool_call_update t < one\n"}, report(stream.ProgressUpdate{FullOutput: "one\n"}))
	require.Equal(t, []string{"tool_call_update t < two\n"}, report(stream.ProgressUpdate{FullOutput: "one\ntwo\n"}), "at once")
	require.Equal(t, []string{"tool_call_update t = terminal|```console\n[…]\na\nb\n```"}, report(stream.ProgressUpdate{Text: "a\nb"}), "what lies between was not reported")
	require.Equal(t, []string{"tool_call_update t < x\na\nb\n", "tool_call_update t completed = terminal exit"},
		d.event(ended("t", "Execute", "one\ntwo\nx\na\nb\n\n\n[Process exited with code 0]")), "the result has it")

	d.event(started("t", "Execute", `{"command":"make"}`), ran("t"), quirks.ToolProgress{ID: "t", Update: stream.ProgressUpdate{FullOutput: "one\n"}})
	require.Equal(t, []string{"tool_call_update t failed = ```console\nother\n``` exit"}, d.event(func() quirks.Event {
		ev := ended("t", "Execute", "Error: Command failed (exit code: 3)\nother\n\n\n[Process exited with code 3]")
		ev.IsError = true
		return ev
	}()), "the terminal does not lead there")
	d.event(started("t", "Execute", `{"command":"make"}`), ran("t"))
	require.Equal(t, []string{"tool_call_update t completed = Command completed successfully exit"}, d.event(ended("t", "Execute", "Command completed successfully")))
}

// droid calls a command that timed out no error.
func TestCommandThatTimedOut(t *testing.T) {
	for terminal, want := range map[bool]string{
		false: "tool_call_update t failed = ```console\nhalf\n```|Command timed out after 3 seconds.",
		true:  "tool_call_update t failed = terminal|Command timed out after 3 seconds.",
	} {
		d := newHarness(protocol.ClientCapabilities{TerminalOutput: terminal})
		d.event(started("t", "Execute", `{"command":"make"}`), ran("t"))
		out := d.event(ended("t", "Execute", "Command timed out after 3 seconds.\n\nPartial output before timeout:\nhalf"))
		require.Equal(t, want, strings.TrimSuffix(out[len(out)-1], " exit"))
	}
}

func TestCommandOfTheUser(t *testing.T) {
	three, zero := 3, 0
	for name, tc := range map[string]struct {
		client         protocol.ClientCapabilities
		code           *int
		note           string
		written, ended []string
	}{
		"in a terminal": {protocol.ClientCapabilities{TerminalOutput: true}, &zero, "",
			[]string{"tool_call_update new-1 < out"}, []string{"tool_call_update new-1 completed = terminal exit"}},
		"cancelled in a terminal": {protocol.ClientCapabilities{TerminalOutput: true}, nil, "Cancelled.",
			[]string{"tool_call_update new-1 < out"}, []string{"tool_call_update new-1 failed = terminal|Cancelled. exit"}},
		"without one": {protocol.ClientCapabilities{}, &three, "",
			[]string{"tool_call_update new-1 = ```console\nout\n```"}, []string{"tool_call_update new-1 failed = ```console\nout\n```|Exit code 3"}},
		"that writes nothing": {protocol.ClientCapabilities{}, &zero, "", nil, []string{"tool_call_update new-1 completed = Exit code 0"}},
		"not started":         {protocol.ClientCapabilities{}, nil, "Not started.", nil, []string{"tool_call_update new-1 failed = Not started."}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newHarness(tc.client)
			u, begun := d.UserCommand(d.moment(), "make")
			require.True(t, strings.HasPrefix(short(begun)[0], "tool_call new-1 pending make"))
			require.True(t, strings.HasPrefix(short(begun)[1], "tool_call_update new-1 in_progress"))
			require.True(t, d.Busy())
			require.Empty(t, u.Output(d.moment(), ""))
			if tc.written != nil {
				require.Equal(t, tc.written, short(u.Output(d.moment(), "out")))
				require.Equal(t, "out", u.AllOutput())
			}
			out := u.Ended(tc.code, tc.note)
			require.Equal(t, tc.ended, short(out))
			raw, _ := json.Marshal(map[string]any{"exitCode": tc.code})
			if tc.note == "" {
				require.JSONEq(t, string(raw), string(out[0].(protocol.ToolCall).RawOutput))
			} else {
				require.Contains(t, string(out[0].(protocol.ToolCall).RawOutput), tc.note)
			}
			require.False(t, d.Busy())
			require.Empty(t, u.Output(d.moment(), "late"))
		})
	}
}
