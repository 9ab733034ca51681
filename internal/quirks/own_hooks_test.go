package quirks

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

const (
	ownHook   = "'/opt/droid-acp' " + stream.OwnHook + " '/run/sock'"
	usersHook = "lint"
)

// hookBegins is a PreToolUse hook of the call "t" with these commands.
func hookBegins(commands ...string) stream.HookStarted {
	ev := stream.HookStarted{HookID: "h", EventName: "PreToolUse", ToolCallID: "t"}
	for _, c := range commands {
		ev.Commands = append(ev.Commands, stream.HookCommand{Command: c})
	}
	return ev
}

func hookEnds(results ...stream.HookResult) stream.HookCompleted {
	return stream.HookCompleted{HookID: "h", Results: results}
}

// pushed returns what passes of these events.
func pushed(t *testing.T, events ...stream.Event) (out []stream.Event) {
	t.Helper()
	n := New(v225)
	for _, ev := range events {
		for _, honest := range n.Handle(epoch, ev) {
			other, ok := honest.(Other)
			require.True(t, ok, "%T", honest)
			out = append(out, other.Event)
		}
	}
	require.Empty(t, n.hooks, "hooks that ended are forgotten")
	return out
}

func TestQuirk33_OwnHooksAreNotTold(t *testing.T) {
	failed := stream.HookResult{ExitCode: 2, Stderr: "no"}
	named := stream.HookResult{ExitCode: 2, Stderr: "no", Command: usersHook}
	ours := stream.HookResult{Stdout: "{}"}
	require.Empty(t, pushed(t, hookBegins(ownHook), hookEnds(ours)))
	require.Empty(t, pushed(t, hookBegins(ownHook), hookEnds()), "it was stopped")
	require.Empty(t, pushed(t, hookEnds(stream.HookResult{Command: ownHook})), "its beginning was not heard")

	require.Equal(t, []stream.Event{hookBegins(usersHook), hookEnds(failed)}, pushed(t, hookBegins(usersHook), hookEnds(failed)))
	require.Equal(t, []stream.Event{hookBegins(), hookEnds()}, pushed(t, hookBegins(), hookEnds()))
	require.Equal(t, []stream.Event{hookBegins(usersHook), hookEnds(failed)},
		pushed(t, hookBegins(ownHook, usersHook), hookEnds(ours, failed)), "results without commands are in the order of these")
	require.Equal(t, []stream.Event{hookBegins(usersHook, "b"), hookEnds(failed, stream.HookResult{})},
		pushed(t, hookBegins(usersHook, ownHook, "b"), hookEnds(failed, ours, stream.HookResult{})))
	require.Equal(t, []stream.Event{hookBegins(usersHook), hookEnds(named)},
		pushed(t, hookBegins(usersHook, ownHook), hookEnds(stream.HookResult{Command: ownHook}, named)), "those with commands need not be")
	require.Equal(t, []stream.Event{hookBegins(usersHook), hookEnds()},
		pushed(t, hookBegins(usersHook, ownHook), hookEnds()), "whoever heard the beginning hears the end")
}

// An event is handed on as it is; that of droid is not changed.
func TestQuirk33_EventsAreNotChanged(t *testing.T) {
	begins, ends := hookBegins(ownHook, usersHook), hookEnds(stream.HookResult{}, stream.HookResult{ExitCode: 1})
	pushed(t, begins, ends)
	require.Equal(t, hookBegins(ownHook, usersHook), begins)
	require.Equal(t, hookEnds(stream.HookResult{}, stream.HookResult{ExitCode: 1}), ends)
}

func toldCall(input string) stream.ToolCall {
	return stream.ToolCall{ToolUse: stream.ToolUse{ID: "t", Name: "Read", Input: json.RawMessage(input)}}
}

func asksFor(input string) stream.PermissionRequest {
	return stream.PermissionRequest{RequestID: "r", ToolUses: []stream.PermissionToolUse{{ToolUse: toldCall(input).ToolUse}}}
}

// redirects are the hook's events that send the call "t" to another file.
func redirects(command string) []stream.Event {
	return []stream.Event{hookBegins(command), hookEnds(stream.HookResult{Stdout: `{"hookSpecificOutput":{"updatedInput":{"file_path":"/private","limit":3}}}` + "\n"})}
}

const (
	asked   = `{"file_path":"/a","limit":3}`
	private = `{"limit":3, "file_path":"/private"}`
)

func TestQuirk33_CallStaysWhatItWas(t *testing.T) {
	snapshot := assistant("m", stream.ContentBlock{Type: "tool_use", ID: "t", Name: "Read", Input: json.RawMessage(asked)})
	k := started(t, v225).push(toldCall(`{}`), toldCall(asked), snapshot).
		push(redirects(ownHook)...).
		push(toldCall(private), stream.ToolPhaseChanged{ToolUseID: "t", ToolName: "Read", Phase: "executing"})
	k.says("tool t started: Read {}", "tool t input: Read "+asked, "tool t runs")

	k = started(t, v225).push(toldCall(`{}`), toldCall(asked)).push(redirects(ownHook)...).push(toldCall(private), asksFor(private))
	request := k.n.requests[0].event.(PermissionRequested)
	require.JSONEq(t, asked, string(request.Tools[0].ToolUse.Input))
	k.says("tool t started: Read {}", "tool t input: Read "+asked, k.lines[len(k.lines)-1])
}

// A call changed by a hook of the user runs as changed, so the user is asked about that.
func TestQuirk33_UsersHooksChangeCalls(t *testing.T) {
	k := started(t, v225).push(toldCall(`{}`), toldCall(asked)).push(redirects(usersHook)...).push(toldCall(private), asksFor(private))
	request := k.n.requests[0].event.(PermissionRequested)
	require.JSONEq(t, private, string(request.Tools[0].ToolUse.Input))

	k = started(t, v225).push(toldCall(`{}`), toldCall(asked)).push(redirects(ownHook)...).push(asksFor(`{"file_path":"/other","limit":3}`))
	request = k.n.requests[0].event.(PermissionRequested)
	require.JSONEq(t, `{"file_path":"/other","limit":3}`, string(request.Tools[0].ToolUse.Input), "a hook of the user's had the last word")
}

// A hook whose output is not JSON, or names an unknown or finished call, has no effect.
func TestQuirk33_StrangeAnswers(t *testing.T) {
	for _, said := range []string{"", "hello", "[]", `{"hookSpecificOutput":null}`, `{"hookSpecificOutput":{}}`} {
		k := started(t, v225).push(toldCall(asked), hookBegins(ownHook), hookEnds(stream.HookResult{Stdout: said}), asksFor(private))
		request := k.n.requests[0].event.(PermissionRequested)
		require.JSONEq(t, private, string(request.Tools[0].ToolUse.Input), said)
	}
	require.Empty(t, pushed(t, redirects(ownHook)...))
	k := started(t, v225).push(toldCall(asked), stream.ToolResult{ToolUseID: "t", Content: json.RawMessage(`"x"`)}).push(redirects(ownHook)...)
	require.Nil(t, k.n.tools.newest["t"].redirectedInput)
}

func TestHistoryHasNoHooks(t *testing.T) {
	// A hook in the process that ran it, in another one, and its message to the model.
	events := History(messages(t, `[
		{"id":"u1","role":"user","content":[{"type":"text","text":"hi"}],"visibility":"both"},
		{"id":"h1","role":"system","content":[{"type":"text","text":"Hook execution started: PreToolUse"}],"visibility":"user_only","hookEventName":"PreToolUse"},
		{"id":"h2","role":"user","content":[],"visibility":"user_only","hookEventName":"PostToolUse"},
		{"id":"n1","role":"user","content":[{"type":"text","text":"`+jsonText(t, stream.Reminder("The editor saved it otherwise."))+`"}],"visibility":"both"},
		{"id":"n2","role":"user","content":[{"type":"text","text":"The editor saved it otherwise."}],"visibility":"llm_only"}]`))
	require.Len(t, events, 1)
	require.Equal(t, UserText{MessageID: "u1", Text: "hi"}, events[0])
}

// jsonText returns text as it appears between the quotes of JSON.
func jsonText(t *testing.T, text string) string {
	t.Helper()
	quoted, err := json.Marshal(text)
	require.NoError(t, err)
	return string(quoted[1 : len(quoted)-1])
}
