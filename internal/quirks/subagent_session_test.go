package quirks

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// says is a line of a subagent's file.
func says(id, text string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":%q}]}}`, id, text)
}

const injected = `{"type":"message","id":"u","message":{"role":"user","content":[{"type":"text","text":"# Task Tool Invocation"}]}}`

const withoutText = `{"type":"message","id":"w","message":{"role":"assistant","content":[{"type":"thinking","thinking":""},{"type":"redacted_thinking","thinking":"x"}]}}`

// beginsSession begins a turn in which a subagent works, which is shown as a session.
func beginsSession(t *testing.T) *talk {
	k := newTalk(t, v225)
	k.n.ShowSubagents()
	k.begin("p1").push(streaming, user("p1", "u1"))
	k.push(stream.ToolCall{ToolUse: stream.ToolUse{ID: "t", Name: "Task", Input: json.RawMessage(`{"description":"look","prompt":"look there"}`)}})
	k.lines = nil
	events := k.n.Handle(k.now, stream.ChildSessionAvailable{ChildID: childOne, ToolUseID: "t", Type: "worker", Description: "look"})
	require.Contains(t, events, SubagentStarted{ID: childOne, ToolID: "t", Type: "worker", Description: "look", Prompt: "look there"})
	k.got(events)
	k.lines = nil
	return k
}

// All that a subagent's file says comes as events of its session, each once, whichever is first: a request or the file. What droid adds to the prompt
// is no text of the subagent's.
func TestSubagentAsASession(t *testing.T) {
	for name, requestFirst := range map[string]bool{"the request comes first": true, "the file comes first": false} {
		t.Run(name, func(t *testing.T) {
			k := beginsSession(t)
			const call = `{"command":"make t"}`
			ask := asks(childOne, "r", "t").(stream.PermissionRequest)
			ask.ToolUses[0].ToolUse.Input = json.RawMessage(call)
			ask.ToolUses[0].ToolUse.Name = "Execute"
			if requestFirst {
				k.push(ask)
			}
			k.wrote(childOne, injected, withoutText, says("a", "On it."), uses("t", call))
			if !requestFirst {
				k.push(ask)
			}
			k.answer("r", false)
			k.push(allowed("r", "t"))
			k.wrote(childOne, gives("t", "done"), says("b", "Found it."))
			starts, ends, texts := 0, 0, ""
			for _, line := range k.lines {
				t.Log(line)
			}
			for _, ev := range k.events {
				in, is := ev.(InSubagent)
				if !is {
					continue
				}
				require.Equal(t, childOne, in.ID)
				switch ev := in.Event.(type) {
				case ToolStarted:
					starts++
					require.Equal(t, childOne+".t", ev.ID, "not droid's call t")
				case ToolEnded:
					ends++
					require.JSONEq(t, `"done"`, string(ev.Content))
				case Text:
					texts += ev.MessageID + ev.Text
				}
			}
			require.Equal(t, []int{1, 1}, []int{starts, ends})
			require.Equal(t, "ahmaOn it.bhmbFound it.", texts)
		})
	}
}

// A file that is read again is shown again from its first line, also lines from before the subagent was announced. A call that ran is the
// same call.
func TestRestartSubagent(t *testing.T) {
	k := beginsSession(t)
	lines := []string{`{"timestamp":"2025-01-01T00:00:00Z",` + says("a", "On it.")[1:], uses("t", string(abc)), gives("t", "done"), uses("u", string(xyz))}
	ask := asks(childOne, "r", "u").(stream.PermissionRequest)
	ask.ToolUses[0].ToolUse.Input = xyz
	k.n.subagents[childOne].since = epoch
	k.wrote(childOne, lines...).push(ask).answer("r", false).push(allowed("r", "u"))
	k.n.RestartSubagent(childOne)
	k.lines, k.check.tools = nil, map[string]*toolState{}
	k.wrote(childOne, lines...).says(`11111111: thought a "hm"`, `11111111: text a "On it."`, `11111111: tool 11111111.t~2 started: Execute {"command":"abc"}`,
		`11111111: tool 11111111.t~2 ended "done"`, `11111111: tool 11111111.u started: Execute {"command":"xyz"}`, "11111111: tool 11111111.u runs")
	k.lost(childOne).says("11111111: tool 11111111.u ended, it is not known how")
}

// The file of a subagent that has ended is converted whole. What has no end there is not known.
func TestSubagentHistory(t *testing.T) {
	lines := func(all ...string) []stream.ChildLine {
		file := []byte{}
		for _, line := range all {
			file = append(file, line+"\n"...)
		}
		return childLines(file)
	}
	events := SubagentHistory(epoch, childOne, lines(injected, uses("t", `{"command":"a"}`), gives("t", "done"), uses("t", `{"command":"b"}`), outcome))
	var got []string
	for _, ev := range events {
		got = append(got, Describe(ev))
	}
	require.Len(t, got, 5, "%v", got)
	require.Equal(t, SubagentEnded{ID: childOne, Name: unnamedSubagent, Reason: "cancelled"}, events[4])
	last := events[3].(InSubagent).Event.(ToolEnded)
	require.True(t, last.Unfinished)
	require.NotEqual(t, events[0].(InSubagent).Event.(ToolStarted).ID, last.ID, "the model's ids repeat")
	require.Equal(t, []Event{SubagentEnded{ID: childOne, Name: unnamedSubagent}}, SubagentHistory(epoch, childOne, nil))
}

func TestTaskSession(t *testing.T) {
	for text, want := range map[string]string{
		launchedPrefix + childOne + "\nsession_id: " + childOne:                  childOne,
		"session_id: " + childOne + "\nUse this report as the source of record.": childOne,
		"session_id: ../x\nUse":           "",
		"session_id":                      "",
		"I wrote session_id: " + childOne: "",
	} {
		content, _ := json.Marshal(text)
		require.Equal(t, want, TaskSession(ToolEnded{Content: content}), text)
	}
	require.Empty(t, TaskSession(ToolEnded{Content: json.RawMessage(`[]`)}))
}

// A subagent of a subagent is known by whose it is; one that works again is not its own.
func TestSubagentOfASubagentAsASession(t *testing.T) {
	k := beginsSession(t)
	k.push(inBackground("t", childOne))
	ask := asks(childTwo, "r", "c").(stream.PermissionRequest)
	ask.Sessions = []string{childTwo, childOne, "parent"}
	events := k.n.Handle(k.now, ask)
	require.Contains(t, events, SubagentStarted{ID: childTwo, Parent: childOne, Description: "look"})
	k.n.Handle(k.now, reports(childOne, "completed"))
	for _, ev := range k.n.Handle(k.now, asks(childOne, "r2", "c")) {
		if began, is := ev.(SubagentStarted); is {
			require.Empty(t, began.Parent)
			return
		}
	}
	t.Fatal("it works again")
}
