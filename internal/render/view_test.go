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

func TestTexts(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	require.Equal(t, []string{"text a: One.", "thought b: Hm.", "text c: \n\nTwo.", "text c: More."}, d.event(
		quirks.Text{MessageID: "a", Text: "One."}, quirks.Text{MessageID: "b", Text: "Hm.", Thought: true},
		quirks.Text{MessageID: "c", Text: "Two."}, quirks.Text{MessageID: "c", Text: "More."}))
	require.Equal(t, []string{"text d:  and on"}, d.event(quirks.AnswerContinues{}, quirks.Text{MessageID: "d", Text: " and on"}),
		"an answer that was cut goes on where it was")
	d.PromptShown()
	require.Equal(t, []string{"text e: Yes."}, d.event(quirks.Text{MessageID: "e", Text: "Yes."}), "a prompt stands between")
	require.Equal(t, []string{"text f: \n\n*hi*"}, short(d.Text("f", "*hi*", false)))
	require.Equal(t, []string{"thought new-1: \\x1b[2K"}, short(d.ShowAgentText(Thought("\x1b[2K"))))
	require.Equal(t, []string{"text new-2: \n\n\\x1b[2K"}, short(d.ShowAgentText(Message("\n\x1b[2K "))))
	require.Empty(t, d.ShowAgentText(Message(" \n")))
	d.FlushNotices()
	require.Equal(t, []string{"notice new-3: \n\nYour unsaved changes in `` a`b ⏎ c `` were saved, since droid is to edit that file."}, short(d.ShowAgentText(SavedNotice("a`b\nc"))))
}

// Important messages are separated from the model's text, even if a call that the client delays comes in between.
func TestAgentMessageIsSeparated(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	d.event(quirks.Text{MessageID: "a", Text: "On it."}, started("t", "LS", `{}`), ran("t"))
	require.Equal(t, []string{"text new-1: \n\nLook."}, short(d.ShowAgentText(Message("Look."))))
	fresh := newHarness(protocol.ClientCapabilities{})
	require.Equal(t, []string{"text new-1: Look."}, short(fresh.ShowAgentText(Message("Look."))), "nothing was said before")
}

func TestAnswersThatBreakOff(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	require.Equal(t, []string{"notice new-1: The answer broke off. Ignore its beginning above; it starts again."},
		d.event(quirks.TextRetracted{MessageID: "a"}))
	require.Empty(t, d.event(quirks.TextRestarted{MessageID: "a", Text: "Again.", VoidThought: 7}), "of thinking nothing need be said")
	require.Equal(t, []string{"notice new-2: \n\nThe answer broke off and came again. Ignore what stands above before “" + strings.Repeat("x", 60) + " …”."},
		d.event(quirks.TextRestarted{MessageID: "a", Text: strings.Repeat("x", 61) + "\ny", Void: 1}))
	require.Equal(t, []string{"notice new-3: \n\n401 bad key"}, d.event(quirks.Notice{Text: `401 {"error":{"message":"bad key"}}`}))
}

// droid's messages to the user outside the conversation are shown as messages, since many clients fold thoughts. That a command runs is
// visible anyway.
func TestNotices(t *testing.T) {
	for _, text := range []string{
		"Authentication failed. Please log in using /login or set a valid FACTORY_API_KEY environment variable.",
		"BYOK Error: Custom model configuration is unavailable",
		"The model produced several consecutive responses with no visible output and no tool calls.",
	} {
		d := newHarness(protocol.ClientCapabilities{})
		require.Equal(t, []string{"notice new-1: " + text}, d.event(quirks.Notice{Text: text}))
	}
	d := newHarness(protocol.ClientCapabilities{})
	require.Equal(t, []string{"thought new-1: /greet is running"}, d.event(quirks.Notice{Text: "/greet is running"}))
}

// An answer that broke off is reported once, together with the retry.
func TestAnswerThatBreaksOffIsRetried(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	require.Len(t, d.event(quirks.TextRetracted{MessageID: "a"}), 1)
	require.Empty(t, d.event(quirks.Retrying{Attempt: 1, Reason: "timeout"}))
	require.Equal(t, []string{"notice new-2: \n\nIt failed again (busy). Trying on…"}, d.event(quirks.Retrying{Attempt: 2, Reason: "busy"}))
	d.EndTurn(Compacted)
	require.Len(t, d.event(quirks.Retrying{Attempt: 1, Reason: "timeout"}), 1)
}

// Nine attempts at a model call are few words: the first, when the reason is another, and how
// many there were.
func TestRetries(t *testing.T) {
	row := func(reason string, n int) (all []quirks.Event) {
		for i := range n {
			all = append(all, quirks.Retrying{Attempt: i + 1, Reason: reason}) // 8 s apart
		}
		return all
	}
	const first = "The model call failed (busy). Trying again…"
	for name, tc := range map[string]struct {
		retries []quirks.Event
		want    string
	}{
		"one":              {row("busy", 1), first},
		"nine":             {row("busy", 9), first + "\n\ndroid tried the model call again 9 times."},
		"another reason":   {append(row("busy", 2), quirks.Retrying{Attempt: 3, Reason: "slow"}), first + "\n\nIt failed again (slow). Trying on…"},
		"three, once each": {append(append(row("busy", 1), row("busy", 1)...), row("busy", 1)...), first}, // a model that says nothing
		"five, once each":  {append(append(append(append(row("busy", 1), row("busy", 1)...), row("busy", 1)...), row("busy", 1)...), row("busy", 1)...), first + "\n\n" + first},
		"two calls":        {append(row("busy", 3), row("busy", 1)...), first + "\n\ndroid tried the model call again 3 times."},
		"two reasons":      {append(row("busy", 3), row("slow", 1)...), first + "\n\ndroid tried the model call again 3 times.\n\nThe model call failed (slow). Trying again…"},
	} {
		d := newHarness(protocol.ClientCapabilities{})
		got := ""
		var out []Output
		for _, ev := range tc.retries {
			out = append(out, d.Event(d.moment(), ev, nil)...)
			d.now = d.now.Add(8 * time.Second)
		}
		for _, o := range append(out, d.EndTurn(Compacted)...) {
			text := o.(Text)
			require.True(t, text.Notice)
			got += text.Text
		}
		require.Equal(t, tc.want, got, name)
		require.Len(t, d.Event(d.moment(), tc.retries[0], nil), 1, "the next turn tells it again")
		require.Empty(t, d.EndTurn(Compacted), name)
	}
	broken := newHarness(protocol.ClientCapabilities{})
	told := 0
	for _, ev := range row("busy", 9) {
		for _, line := range append(broken.event(ev), broken.event(quirks.Text{MessageID: "a", Text: "Half "})...) {
			if strings.HasPrefix(line, "notice ") {
				told++
			}
		}
	}
	require.Equal(t, 1, told, "an answer that breaks off each time is one call")
	d := newHarness(protocol.ClientCapabilities{})
	d.event(row("busy", 3)...)
	require.Empty(t, d.EndTurn(CompactionCancelled), "nobody waits for it any more")
	require.Empty(t, d.EndTurn(Compacted))
}

func TestCompaction(t *testing.T) {
	began := quirks.Other{Event: stream.WorkingStateChanged{State: stream.StateCompacting}}
	over := quirks.Other{Event: stream.SessionCompacted{RemovedCount: 7}}
	require.Equal(t, "1 message became a summary.", SummaryNote(1))
	full := []string{"notice new-1: " + windowFull, "notice new-1:  Done."}
	for name, events := range map[string][]quirks.Event{"both": {began, began, over}, "the end alone": {over}} {
		require.Equal(t, full, newHarness(protocol.ClientCapabilities{}).event(events...), name)
		require.Equal(t, []string{"compaction new-1 in_progress", "compaction new-1 completed"},
			newHarness(protocol.ClientCapabilities{Compaction: true}).event(events...), name)
	}
	require.Empty(t, newHarness(protocol.ClientCapabilities{}).event(quirks.Other{Event: stream.WorkingStateChanged{State: "of the future"}}))
	for end, want := range map[CompactionEnd]string{Compacted: "Done.", CompactionFailed: "It failed.", CompactionCancelled: "It was cancelled."} {
		d := newHarness(protocol.ClientCapabilities{})
		require.Empty(t, d.EndCompaction(end), "none has begun")
		require.False(t, d.Compacting())
		require.Equal(t, []string{"notice new-1: " + CompactionRequested}, short(d.BeginCompaction(CompactionRequested)))
		require.True(t, d.Compacting())
		require.Empty(t, d.BeginCompaction(windowFull), "that is shown already")
		require.Equal(t, []string{"notice new-1:  " + want}, short(d.EndCompaction(end)))
		require.False(t, d.Compacting())
	}
	for _, end := range []CompactionEnd{Compacted, CompactionFailed, CompactionCancelled} {
		d := newHarness(protocol.ClientCapabilities{Compaction: true})
		d.event(began)
		require.Equal(t, []string{"compaction new-1 " + string(end)}, short(d.EndTurn(end)), "with its turn")
	}
}

func TestHooks(t *testing.T) {
	var begun stream.HookStarted
	require.NoError(t, json.Unmarshal([]byte(`{"hookId":"1","hookEventName":"PreToolUse","hookCommands":[{"command":"fine"},{"command":"a \u0060lint\u0060\n-x"}]}`), &begun))
	d := newHarness(protocol.ClientCapabilities{})
	end := stream.HookCompleted{HookID: "1", Results: []stream.HookResult{{ExitCode: 0, Stdout: "good"}, {ExitCode: 2, Stderr: "no good\n", Stdout: "said"}, {ExitCode: 3}}}
	require.Equal(t, []string{"report The PreToolUse hook `` a `lint` … `` failed with exit code 2.\nno good", "report The PreToolUse hook failed with exit code 3."},
		d.event(quirks.Other{Event: begun}, quirks.Other{Event: end}))
	require.Empty(t, d.hooks, "one that has ended is forgotten")
	long := stream.HookCompleted{HookID: "2", EventName: "Stop", Results: []stream.HookResult{{Command: "lint", ExitCode: 1, Stdout: strings.Repeat("x", 501)}}}
	require.Equal(t, []string{"report The Stop hook `lint` failed with exit code 1.\n" + strings.Repeat("x", 500) + " …"}, d.event(quirks.Other{Event: long}))
}

func TestLostLines(t *testing.T) {
	for kind, want := range map[string]string{"tool_call": "a tool call", "": "something (of no known kind)", "odd": "something (odd)",
		"request_permission": "a request for permission, which is refused therefore"} {
		got := newHarness(protocol.ClientCapabilities{}).event(quirks.Other{Event: stream.Lost{Type: kind, Size: 314_572_800}})
		require.Equal(t, []string{"notice new-1: droid sent " + want + " of 314.6 MB. That is lost, as droid-acp reads 268.4 MB at once at most. " +
			"The session goes on; ask for less at a time, or have it written to a file."}, got)
	}
}

// Late output of a cancelled turn is not shown, except for the end of what was begun.
func TestDroppable(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	d.event(started("t", "LS", `{}`))
	for _, ev := range []quirks.Event{quirks.Text{}, quirks.TextRetracted{}, quirks.TextRestarted{}, quirks.Notice{}, quirks.Retrying{}, quirks.ToolStarted{},
		quirks.ToolInput{}, quirks.ToolRunning{ID: "t"}, quirks.ToolProgress{ID: "t"}, quirks.ToolEnded{ID: "u"}} {
		require.True(t, d.Droppable(ev), "%T", ev)
	}
	for _, ev := range []quirks.Event{quirks.ToolEnded{ID: "t"}, quirks.TurnEnded{}, quirks.PermissionRequested{}, quirks.QuestionRequested{}, quirks.RequestWithdrawn{},
		quirks.SettingsChanged{}, quirks.TitleChanged{}, quirks.UsageChanged{}, quirks.Other{}, quirks.PromptDropped{}, quirks.PromptMerged{}} {
		require.False(t, d.Droppable(ev), "%T", ev)
	}
	d.event(quirks.Other{Event: stream.HookStarted{HookID: "h"}})
	for _, passed := range []stream.Event{stream.HookStarted{HookID: "i"}, stream.HookCompleted{HookID: "i"}, stream.Lost{}} {
		require.True(t, d.Droppable(quirks.Other{Event: passed}), "%T", passed)
	}
	for _, passed := range []stream.Event{stream.HookCompleted{HookID: "h"}, stream.WorkingStateChanged{}, stream.SessionCompacted{}} {
		require.False(t, d.Droppable(quirks.Other{Event: passed}), "%T", passed)
	}
}

func TestHistoryOfAConversation(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	d.disk["/workspace/a.txt"] = "one\n"
	var got []string
	for _, ev := range []quirks.Event{
		quirks.UserText{MessageID: "u", Text: "Look", Files: []quirks.UserFile{{Name: "b.txt"}}},
		quirks.UserImage{MessageID: "u", Data: "AA==", MediaType: "image/png"},
		started("t", "Edit", `{"file_path":"a.txt","old_str":"one","new_str":"two"}`),
		ended("t", "Edit", "done"),
		quirks.Text{MessageID: "a", Text: "So."},
	} {
		got = append(got, short(d.History(d.moment(), ev))...)
	}
	require.Equal(t, []string{"user_message_chunk u: Look\n\n[attached: b.txt]", "user_message_chunk u: image/png AA==", "tool_call t pending Edit a.txt",
		"tool_call_update t completed = diff", "text a: So."}, got)
	out := d.History(d.moment(), started("t2", "Edit", `{"file_path":"a.txt","old_str":"one","new_str":"two"}`))
	require.Len(t, out, 1, "at once, with its whole input")
	require.Equal(t, []protocol.Location{{Path: "/workspace/a.txt"}}, out[0].(protocol.ToolCall).Locations, "the file has changed since: no line is known")
	require.False(t, d.past)
}

// Whether a Create in a history made or overwrote a file is unknown: it shows no diff from nothing.
func TestCreateOfThePastHasNoDiff(t *testing.T) {
	for _, past := range []bool{true, false} {
		d := newHarness(protocol.ClientCapabilities{})
		say := func(ev quirks.Event) (got string) {
			view := func(m Moment, ev quirks.Event) []Output { return d.Event(m, ev, d.texts(d.NeededFiles(ev)...)) }
			if past {
				view = d.History
			}
			out := view(d.moment(), ev)
			for _, u := range out {
				got += texts(u.(protocol.ToolCall).Content)
			}
			return got
		}
		say(started("t", "Create", `{"file_path":"a.txt","content":"one\n"}`))
		want := "diff"
		if past {
			want = "The text for a.txt:\n\n```\none\n```"
		}
		require.Equal(t, want, say(ended("t", "Create", "File created successfully")))
	}
}

// A client that shows nothing of how a call ends gets a message why an edit failed, between the model's messages; not of one that
// its user refused, nor of one that is past.
func TestFailedEditIsToldWhereCallsShowNoResult(t *testing.T) {
	for name, seen := range map[string]bool{"vscode-acp-client": false, "CodeCompanion.nvim": false, "agent-shell": true, "zed": true} {
		d := newHarness(protocol.ParseCapabilities(nil, []byte(`{"name":"`+name+`"}`)))
		fails := func(id, why string) {
			end := ended(id, "Edit", why)
			end.IsError = true
			d.event(started(id, "Edit", `{"file_path":"a.txt","old_str":"one","new_str":"two"}`), quirks.ToolRunning{ID: id}, end)
		}
		told := func(events ...quirks.Event) string { return strings.Join(d.event(events...), "|") }
		const why = "The edit of `a.txt` failed: The text was not found."
		fails("refused", "Error: Tool execution cancelled by user")
		require.Equal(t, "text m: I see.", told(quirks.Text{MessageID: "m", Text: "I see."}), name)
		fails("told", "Error: The text was not found.")
		require.Equal(t, !seen, strings.Contains(told(quirks.Text{MessageID: "n", Text: "Then"}), why), name)

		fails("stored", "Error: Failed to edit file")
		require.Equal(t, "text o: \n\nIt", told(quirks.Text{MessageID: "o", Text: "It"}), name)
		require.Equal(t, seen, len(d.ExplainFailure(d.TakeUnexplained(quirks.Text{MessageID: "o"})[0], "Error: The text was not found.")) > 0, "of a call that the client has closed")
		require.Equal(t, "text o:  failed.", told(quirks.Text{MessageID: "o", Text: " failed."}), "not amid the model's words")
		require.Equal(t, !seen, strings.Contains(told(quirks.TurnEnded{}), why), name)
		require.Empty(t, told(quirks.TurnEnded{}), "once")
	}
}

// The reason for a failed edit is requested once, when the model continues; not for an edit with a reason, nor for one in a history.
func TestFailedEditIsExplained(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	failed := func(id, why string) quirks.ToolEnded {
		end := ended(id, "Edit", why)
		end.IsError = true
		return end
	}
	const edit = `{"file_path":"a.txt","old_str":"one","new_str":"two"}`
	for id, why := range map[string]string{"a": "Error: Failed to edit file", "b": "Error: The text to replace was not found in the file."} {
		d.event(started(id, "Edit", edit))
		d.event(quirks.ToolRunning{ID: id})
		d.event(failed(id, why))
	}
	d.History(d.moment(), started("p", "Edit", edit))
	d.History(d.moment(), failed("p", "Error: Failed to edit file"))
	require.Empty(t, d.TakeUnexplained(quirks.UsageChanged{}))
	list := d.TakeUnexplained(quirks.Text{})
	require.Len(t, list, 1)
	require.Empty(t, d.TakeUnexplained(quirks.Text{}), "once")
	out := d.ExplainFailure(list[0], "Error: it was changed")
	require.Len(t, out, 1)
	update := out[0].(protocol.ToolCall)
	require.Equal(t, "a", update.ToolCallID)
	require.Equal(t, "diff|Error: it was changed", texts(update.Content))
}

// A notice does not interrupt a message: it is sent when that has ended.
func TestNoticeBetweenWords(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	told := func(out []Output) string { return strings.Join(short(out), "|") }
	d.event(quirks.Text{MessageID: "m", Text: "slow1 "})
	require.Empty(t, d.ShowAgentText(Notice("The server has failed.")))
	require.Equal(t, "text m: slow2", strings.Join(d.event(quirks.Text{MessageID: "m", Text: "slow2"}), "|"))
	require.Contains(t, strings.Join(d.event(started("t", "Execute", `{"command":"ls"}`)), "|"), "The server has failed.")
	require.Contains(t, told(d.ShowAgentText(Notice("Another one."))), "Another one.", "no words are under way")
	d.event(quirks.Text{MessageID: "n", Text: "more"})
	require.Empty(t, d.ShowAgentText(Notice("A third.")))
	require.Contains(t, told(d.FlushNotices()), "A third.")
}
