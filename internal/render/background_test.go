package render

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
)

// leftText is droid's result for a command in the background (0.215, 0.225).
func leftText(command string) string {
	return "Background process started (PID: 554)\nCommand: " + command + "\nOutput: /tmp/droid-bg-17.out\nStatus: Running in background\n\n" +
		"Note: Process will continue after CLI exits. Use 'ps' or 'kill' commands to manage."
}

func quoted(text string) json.RawMessage {
	data, _ := json.Marshal(text)
	return data
}

// The command is part of the result, and may look like the rest of it.
func TestParseBackgroundResult(t *testing.T) {
	lie := "x\nOutput: /etc/passwd\nStatus: Running in background\n\nNote: n"
	for _, text := range []string{leftText("serve"), leftText(lie), leftText("")} {
		left, ok := ParseBackgroundResult(quoted(text))
		require.True(t, ok, text)
		require.Equal(t, BackgroundCommand{PID: 554, Output: "/tmp/droid-bg-17.out"}, left)
		require.Equal(t, "droid-bg-17", left.ID())
	}
	for _, text := range []string{
		"", "serve", "Background process started (PID: 554)\n", strings.Replace(leftText("x"), "554", "-1", 1), strings.Replace(leftText("x"), "554", "0", 1),
		strings.Replace(leftText("x"), "554", "99999999999", 1), "It said: " + leftText("x"), leftText("x") + "\nand more",
		strings.Replace(leftText("x"), "Running in background", "Completed successfully", 1),
	} {
		_, ok := ParseBackgroundResult(quoted(text))
		require.False(t, ok, text)
	}
}

// leaves is a call that leaves a command in the background.
func leaves(id string) []quirks.Event {
	return []quirks.Event{
		quirks.ToolStarted{ID: id, Name: "Execute", Input: json.RawMessage(`{"command":"serve","summary":"Serve it","fireAndForget":true}`)},
		quirks.ToolRunning{ID: id},
		quirks.ToolEnded{ID: id, Name: "Execute", Content: quoted(leftText("serve"))},
	}
}

// shownOf returns the shown updates, as JSON.
func shownOf(out []Output) string {
	data, _ := json.Marshal(out)
	return string(data)
}

// The output and the end of a background command are shown below its call; droid's remark that the command outlives droid is not passed on.
func TestCommandInTheBackground(t *testing.T) {
	left := BackgroundCommand{PID: 554, Output: "/tmp/droid-bg-17.out"}
	for name, tc := range map[string]struct {
		client             protocol.ClientCapabilities
		call, wrote, ended string
	}{
		"terminals": {protocol.ClientCapabilities{TerminalOutput: true},
			`"status":"completed","content":[{"type":"terminal","terminalId":"a"},`,
			`"terminal_output":{"terminal_id":"a","data":"one\ntwo\n"}`,
			`"terminal_exit":{"terminal_id":"a","exit_code":null,"signal":null}`},
		"others": {protocol.ClientCapabilities{}, `"status":"completed","content":[{"type":"content"`, "null", `"text":"It has ended."`},
		"Air": {protocol.ClientCapabilities{AsyncTasks: true},
			`"_meta":{"jetbrains":{"air":{"asyncTasks":{"backgrounded":true}}}}`,
			`{"sessionUpdate":"async_task_progress","asyncTaskId":"droid-bg-17","summary":"two"}`,
			`{"sessionUpdate":"async_task_state_update","asyncTaskId":"droid-bg-17","state":"completed","summary":"It has ended."}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newHarness(tc.client)
			var out []Output
			for _, ev := range leaves("a") {
				out = append(out, d.Event(Moment{Now: d.now, HasRoom: true}, ev, nil)...)
			}
			shown := shownOf(out)
			require.Contains(t, shown, tc.call)
			require.Contains(t, shown, runsOn)
			require.NotContains(t, shown, "CLI exits")
			require.NotContains(t, shown, "terminal_exit")
			require.Equal(t, tc.client.AsyncTasks, strings.Contains(shown, `{"sessionUpdate":"async_task_spawned","asyncTaskId":"droid-bg-17","name":"serve","taskType":"shell",`+
				`"description":"Serve it","showInTranscript":false,"canStop":true,"outputFilePath":"/tmp/droid-bg-17.out","toolCallId":"a"}`), shown)
			require.False(t, d.Busy())

			require.Contains(t, shownOf(d.BackgroundOutput(left, "one\ntwo\n")), tc.wrote)
			require.Empty(t, d.BackgroundOutput(BackgroundCommand{Output: "/tmp/droid-bg-1.out"}, "one"))
			require.Equal(t, name == "others", d.BackgroundEndMessage(left, "serve", "one\ntwo\n") != "")
			ended := shownOf(d.BackgroundEnded(left, "It has ended.", "one\ntwo\n", false))
			require.Contains(t, ended, tc.ended)
			require.Equal(t, name == "Air", strings.Contains(ended, `The end of its output:\n`+"```console"+`\none\ntwo\n`), ended)
			require.NotContains(t, ended, `exit_code":0`)
			require.Empty(t, d.BackgroundOutput(left, "late"))
			require.Empty(t, d.BackgroundEnded(left, "It has ended.", "", false), "once")
			require.Equal(t, tc.client.TerminalOutput, d.BackgroundEndMessage(left, "serve", "one\ntwo\n") == "", "it is told where no call shows it")
		})
	}
}

// A client that shows nothing below a call gets a message in the chat that its command continues.
func TestCommandInTheBackgroundIsToldOf(t *testing.T) {
	const told = "The command `serve` runs in the background: `/background`."
	for name, tc := range map[string]struct {
		client protocol.ClientCapabilities
		tells  bool
	}{
		"shows nothing": {protocol.ClientCapabilities{ClientProfile: protocol.ClientProfile{HidesResults: true}}, true},
		"terminals":     {protocol.ClientCapabilities{TerminalOutput: true, ClientProfile: protocol.ClientProfile{HidesResults: true}}, false},
		"others":        {protocol.ClientCapabilities{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newHarness(tc.client)
			d.event(leaves("a")...)
			shown := d.event(quirks.Text{MessageID: "m", Text: "It runs."})
			require.Equal(t, tc.tells, strings.Contains(strings.Join(shown, "\n"), told), shown)
			require.NotContains(t, strings.Join(d.event(quirks.Text{MessageID: "n", Text: "Yes."}), "\n"), told)
		})
	}
}

// In a history, too: there the model says that it runs, and it has ended.
func TestCommandThatEndedWithDroidIsToldOf(t *testing.T) {
	for name, tells := range map[string]bool{"vscode-acp-client": true, "CodeCompanion.nvim": true, "agent-shell": false, "zed": false} {
		d := newHarness(protocol.ParseCapabilities(nil, []byte(`{"name":"`+name+`"}`)))
		var out []Output
		for _, ev := range append(leaves("a"), quirks.Text{MessageID: "m", Text: "It runs."}) {
			out = append(out, d.History(d.moment(), ev)...)
		}
		shown := short(out)
		require.Equal(t, tells, strings.Contains(shownOf(out[:len(out)-1]), "The command `serve` ran in the background, and ended with droid."), shown)
		require.NotContains(t, shownOf(out), "runs in the background")
		require.NotContains(t, strings.Join(d.event(quirks.Text{MessageID: "n", Text: "Yes."}), ""), "ended with droid", "once")
	}
}

// For a client that forgets a call when its turn is over, a later update repeats which call it is. One that
// shows nothing of the content gets no update: it would show one more call, without a title.
func TestEndsOfCallsThatAClientForgets(t *testing.T) {
	for name, tc := range map[string]struct {
		client        protocol.ClientProfile
		command, task string
	}{
		"others":        {protocol.ClientProfile{}, "tool_call_update a = ", "tool_call_update t = "},
		"forgets":       {protocol.ClientProfile{ForgetsCalls: true}, "tool_call_update a completed serve = ", "tool_call_update t completed Task look = "},
		"shows nothing": {protocol.ClientProfile{HidesResults: true}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			lines := func(begin, text string) []string {
				if begin == "" {
					return nil
				}
				return []string{begin + text}
			}
			d := newHarness(protocol.ClientCapabilities{ClientProfile: tc.client})
			d.event(leaves("a")...)
			d.PromptShown()
			require.Equal(t, lines(tc.command, "You have stopped it."), short(d.BackgroundEnded(BackgroundCommand{PID: 554, Output: "/tmp/droid-bg-17.out"}, "You have stopped it.", "", true)))
			end := ended("t", "Task", "")
			end.Background = true
			d.event(started("t", "Task", `{"description":"look"}`), ran("t"), end)
			require.NotContains(t, strings.Join(d.event(quirks.SubagentSteps{ID: "s", ToolID: "t", Steps: []quirks.Step{{Text: "I look."}}}), ""), "Task look", "it knows the call before the next prompt")
			d.PromptShown()
			require.Equal(t, lines(tc.task, "- I look.\n- I read.\n|The subagent works in the background."), d.event(quirks.SubagentSteps{ID: "s", ToolID: "t", Steps: []quirks.Step{{Text: "I read."}}}))
			require.Equal(t, lines(tc.task, "- I look.\n- I read.\n|found it"), d.event(quirks.SubagentEnded{ID: "s", ToolID: "t", Reason: "completed", Answer: "found it"}))
		})
	}
}

// In a history such a command has ended with droid, unless it is known to run: then its output is in the history, and further output is
// shown at that call.
func TestCommandInTheBackgroundOfAHistory(t *testing.T) {
	left := BackgroundCommand{PID: 554, Output: "/tmp/droid-bg-17.out"}
	d := newHarness(protocol.ClientCapabilities{TerminalOutput: true, AsyncTasks: true})
	load := func(id string) string {
		var out []Output
		for _, ev := range leaves(id) {
			out = append(out, d.History(Moment{Now: d.now, HasRoom: true}, ev)...)
		}
		return shownOf(out)
	}
	gone := load("a")
	require.Contains(t, gone, endedWithDroid)
	require.Contains(t, gone, "terminal_exit")
	require.NotContains(t, gone, "async_task")
	require.NotContains(t, gone, "CLI exits")
	d.SetSurvivors([]BackgroundCommand{{PID: 555, Output: "/tmp/droid-bg-18.out"}, left})
	stays := load("a2")
	require.Contains(t, stays, "It ran in the background, and may still run: as process 554,")
	require.NotContains(t, stays, endedWithDroid)
	d.SetSurvivors(nil)
	require.Contains(t, load("a3"), endedWithDroid)

	for _, ev := range leaves("b") {
		d.Event(Moment{Now: d.now, HasRoom: true}, ev, nil)
	}
	d.BackgroundOutput(left, "one\n")
	runs := load("c")
	require.Contains(t, runs, runsOn)
	require.Contains(t, runs, `"terminal_output":{"terminal_id":"c","data":"one\n"}`)
	require.Contains(t, runs, "async_task_spawned")
	require.NotContains(t, runs, "terminal_exit")
	require.Contains(t, shownOf(d.BackgroundOutput(left, "two\n")), `"terminal_output":{"terminal_id":"c","data":"two\n"}`)
}

// Any other result of such a call is a command's: one that has ended at once, and one that failed.
func TestCommandThatEndedAtOnce(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	events := leaves("a")
	end := events[2].(quirks.ToolEnded)
	end.IsError = true
	for _, ev := range []quirks.Event{events[0], events[1], end} {
		d.Event(Moment{Now: d.now, HasRoom: true}, ev, nil)
	}
	require.Empty(t, d.BackgroundEnded(BackgroundCommand{Output: "/tmp/droid-bg-17.out"}, "", "", false))
}
