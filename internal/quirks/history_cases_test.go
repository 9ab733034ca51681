package quirks

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// messages decodes a history as droid writes it.
func messages(t *testing.T, raw string) []stream.Message {
	t.Helper()
	var all []stream.Message
	require.NoError(t, json.Unmarshal([]byte(raw), &all))
	return all
}

func TestHistoryCases(t *testing.T) {
	const (
		call   = `{"id":"a1","role":"assistant","content":[{"type":"tool_use","id":"c","name":"Read","input":{"n":1}}]}`
		call2  = `{"id":"a2","role":"assistant","content":[{"type":"tool_use","id":"c","name":"Read","input":{"n":2}}]}`
		result = `{"id":"t1","role":"tool","content":[{"type":"tool_result","toolUseId":"c","isError":false,"content":"out"}]}`
		user   = `{"id":"u1","role":"user","content":[{"type":"text","text":"hi"}]}`
		task   = `{"id":"a0","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Task","input":{"description":"look"}}]}`
		launch = `{"id":"t0","role":"tool","content":[{"type":"tool_result","toolUseId":"t","content":"Task launched in background.\ntask_id: child\nsession_id: child"}]}`
		report = `{"id":"task-completion:1","role":"user","visibility":"llm_only","content":[{"type":"text","text":"Background task completed.\ntask_id: child\ntype: worker\nreason: completed\ndescription: look\noutput: found it\n\nBackground task \"look\" (child) just completed."}]}`
	)
	cases := []struct {
		name, history string
		want          []string
	}{
		{"nothing", ``, nil},
		{"subagent of the background that has reported", task + `,` + launch + `,` + report + `,` + report + `,` + user,
			[]string{`tool t started: Task {"description":"look"}`, "tool t ended, its subagent goes on",
				`subagent child ended, of "t", named "look", gone false, reason "completed": "found it"`, `subagent child reports, named "look", reason "completed"`, `user u1 "hi"`}},
		{"subagent of the background that has not", task + `,` + launch + `,` + user + `,` + call,
			[]string{`tool t started: Task {"description":"look"}`, "tool t ended, its subagent goes on", `user u1 "hi"`, `tool c started: Read {"n":1}`,
				`subagent child ended, of "t", named "look", gone false, reason "": ""`, "tool c ended unfinished"}},
		{"report of a subagent that nobody knows", report + `,` + user, []string{`user u1 "hi"`}},
		{"another tool that says so", strings.ReplaceAll(task, "Task", "Read") + `,` + launch,
			[]string{`tool t started: Read {"description":"look"}`, `tool t ended "Task launched in background.\ntask_id: child\nsession_id: child"`}},
		{"result of another API's form",
			call + `,{"id":"t1","role":"tool","content":[{"type":"tool_result","tool_use_id":"c","is_error":true,"content":"no"}]}`,
			[]string{`tool c started: Read {"n":1}`, `tool c failed "no"`}},
		{"result in a user message",
			call + `,{"id":"t1","role":"user","content":[{"type":"tool_result","toolUseId":"c","content":[{"type":"image"}]}]}`,
			[]string{`tool c started: Read {"n":1}`, `tool c ended [{"type":"image"}]`}},
		{"result with a field of another type than its own",
			call + `,{"id":"t1","role":"tool","content":[{"type":"tool_result","toolUseId":"c","id":5,"content":"out"}]}`,
			[]string{`tool c started: Read {"n":1}`, `tool c ended "out"`}},
		{"result of an unknown call", user + `,` + result, []string{`user u1 "hi"`}},
		{"result before its call", result + `,` + call, []string{`tool c started: Read {"n":1}`, "tool c ended unfinished"}},
		{"second result", call + `,` + result + `,` + `{"id":"t2","role":"tool","content":[{"type":"tool_result","toolUseId":"c","isError":true,"content":"late"}]}`,
			[]string{`tool c started: Read {"n":1}`, `tool c ended "out"`}},
		{"cut off, then the id again", call + `,` + user + `,` + call2 + `,` + result,
			[]string{`tool c started: Read {"n":1}`, "tool c ended unfinished", `user u1 "hi"`, `tool c~2 started: Read {"n":2}`, `tool c~2 ended "out"`}},
		{"message during a tool", call + `,` + user + `,` + result,
			[]string{`tool c started: Read {"n":1}`, `user u1 "hi"`, `tool c ended "out"`}},
		{"hidden message during a tool", call + `,{"id":"x","role":"user","visibility":"llm_only","content":[{"type":"text","text":"no"}]},` + result,
			[]string{`tool c started: Read {"n":1}`, `tool c ended "out"`}},
		{"nothing of the user's after a tool that was cut off",
			call + `,{"id":"u","role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"}]},{"id":"n","role":"system","content":[{"type":"text","text":"so"}]}`,
			[]string{`tool c started: Read {"n":1}`, `notice "so"`, "tool c ended unfinished"}},
		{"one id twice in a message",
			`{"id":"a1","role":"assistant","content":[{"type":"tool_use","id":"c","name":"Read","input":{}},{"type":"tool_use","id":"c","name":"LS"}]},` + result,
			[]string{`tool c started: Read {}`, `tool c ended "out"`}},
		{"call without an input", `{"id":"a1","role":"assistant","content":[{"type":"tool_use","id":"c","name":"Read"}]}`,
			[]string{`tool c started: Read {}`, "tool c ended unfinished"}},
		{"repeated messages", user + `,` + user + `,` + call + `,` + call + `,` + result + `,` + result,
			[]string{`user u1 "hi"`, `tool c started: Read {"n":1}`, `tool c ended "out"`}},
		{"result with the id of another message", call + `,` + result + `,` + strings.Replace(user, "u1", "t1", 1),
			[]string{`tool c started: Read {"n":1}`, `tool c ended "out"`, `user t1 "hi"`}},
		{"the user's own words that ask for more of an answer", strings.Replace(user, "hi", "Continue where you left off.", 1), []string{`user u1 "Continue where you left off."`}},
		{"messages without an id", `{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"user","content":[{"type":"text","text":"b"}]}`,
			[]string{`user  "a"`, `user  "b"`}},
		{"call and result in one message",
			`{"id":"a1","role":"assistant","content":[{"type":"tool_use","id":"c","name":"Read"},{"type":"tool_result","toolUseId":"c","content":"x"}]}`,
			[]string{`tool c started: Read {}`, "tool c ended unfinished"}},
		{"an answer that was cut", `{"id":"a1","role":"assistant","content":[{"type":"text","text":"one "}]},
			{"id":"x","role":"user","visibility":"llm_only","content":[{"type":"text","text":"Your previous response ended before completion. Continue where you left off."}]},
			{"id":"a2","role":"assistant","content":[{"type":"text","text":"two"}]}`,
			[]string{`text a1 "one "`, "the answer continues", `text a2 "two"`}},
		{"hidden ids",
			`{"id":"context-1","role":"user","content":[{"type":"text","text":"a"}]},{"id":"__internal__x","role":"user","content":[{"type":"text","text":"b"}]}`, nil},
		{"hidden answer", `{"id":"a1","role":"assistant","visibility":"llm_only","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"c","name":"Read"}]},` + result, nil},
		{"system messages",
			`{"id":"1","role":"system","visibility":"user_only","content":[{"type":"text","text":"a"}]},
			 {"id":"2","role":"user","visibility":"user_only","content":[{"type":"text","text":"b"}]},
			 {"id":"3","role":"system","visibility":"llm_only","content":[{"type":"text","text":"c"}]},
			 {"id":"4","role":"system","visibility":"both","content":[{"type":"text","text":"Request cancelled by user"}]},
			 {"id":"5","role":"user","visibility":"both","content":[{"type":"text","text":"Request cancelled by user"}]},
			 {"id":"6","role":"user","visibility":"both","content":[{"type":"text","text":"mine"}]},
			 {"id":"7","role":"user","content":[{"type":"text","text":"Request cancelled by user"}]}`,
			[]string{`notice "a"`, `notice "b"`, `user 6 "mine"`, `user 7 "Request cancelled by user"`}},
		{"thinking and unknown blocks",
			`{"id":"a1","role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":""},{"type":"text","text":"so"}]},{"id":"z","role":"critic","content":[{"type":"text","text":"x"}]}`,
			[]string{`thought a1 "hm"`, `text a1 "so"`}},
		{"texts and attachments",
			`{"id":"u","role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},
			 {"type":"image","source":{"type":"base64","mediaType":"image/png","data":"QUJD"}},
			 {"type":"image","source":{"type":"url","url":"https://example.com"}},{"type":"image"},
			 {"type":"document","source":{"type":"text","mediaType":"text/plain","data":"BODY","name":"n.txt"}},{"type":"document","source":5},
			 {"type":"text","text":"c"}]}`,
			[]string{`user u "a\nb\nc" with "n.txt" text/plain, "" `, `user u image image/png, 4 bytes of base64`}},
		{"an attachment alone", `{"id":"u","role":"user","content":[{"type":"document","source":{"type":"base64","mediaType":"application/pdf","name":"n.pdf"}}]}`,
			[]string{`user u "" with "n.pdf" application/pdf`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			history := messages(t, "["+c.history+"]")
			events := History(history)
			require.NoError(t, checkHistory(events))
			var got []string
			for _, ev := range events {
				got = append(got, Describe(ev))
			}
			require.Equal(t, c.want, got)
			h := newHistory(history)
			for i, m := range history {
				h.message(i, m)
			}
			h.endCalls()
			require.Empty(t, h.open, "calls that have ended are forgotten")
		})
	}
}

// toolIDs are the ids of the tool calls that a history shows.
func toolIDs(history []stream.Message) (ids []string) {
	for _, ev := range History(history) {
		if started, ok := ev.(ToolStarted); ok {
			ids = append(ids, started.ID)
		}
	}
	return ids
}

// TestReserveLoadedCalls checks that a call after a load gets an id that the
// history has not.
func TestReserveLoadedCalls(t *testing.T) {
	history := messages(t, `[{"id":"a","role":"assistant","content":[{"type":"tool_use","id":"c","name":"Read"}]},
		{"id":"b","role":"assistant","content":[{"type":"tool_use","id":"c","name":"Read"}]}]`)
	n := New(v225)
	n.Reserve(toolIDs(history)...)
	events := n.Handle(epoch, stream.ToolCall{ToolUse: stream.ToolUse{ID: "c", Name: "Read"}})
	require.Equal(t, []Event{ToolStarted{ID: "c~3", Name: "Read", Input: json.RawMessage("{}")}}, events)
}

func TestStripInjectedText(t *testing.T) {
	cases := []struct {
		name string
		in   []string
		want []string
	}{
		{"none", []string{"  hi\n"}, []string{"  hi\n"}},
		{"whole block", []string{"<system-reminder>\nx\n</system-reminder>"}, []string{""}},
		{"one line", []string{"<system-reminder>x</system-reminder>"}, []string{""}},
		{"before", []string{"<system-reminder>\nx\n</system-reminder>\n\nhi"}, []string{"hi"}},
		{"after", []string{"hi\n<system-reminder>\nx\n</system-reminder>"}, []string{"hi"}},
		{"after on the same line", []string{"hi <system-reminder>\nx\n</system-reminder>"}, []string{"hi"}},
		{"before on the same line", []string{"<system-reminder>x</system-reminder> hi"}, []string{"hi"}},
		{"between", []string{"<system-reminder>\na\n</system-reminder>\nhi\n<system-reminder>b</system-reminder>"}, []string{"hi"}},
		{"between on the same line", []string{"<system-reminder>a</system-reminder> hi\n<system-reminder>b</system-reminder>"}, []string{"hi"}},
		{"two in a row", []string{"<system-reminder>a</system-reminder><system-reminder>b</system-reminder>hi"}, []string{"hi"}},
		{"across blocks", []string{"hi\n<system-reminder>\nx", "more", "end\n</system-reminder>\nbye"}, []string{"hi", "", "bye"}},
		{"never closed", []string{"hi\n<system-reminder>\nx", "y"}, []string{"hi", ""}},
		{"quotes a closing tag", []string{"<system-reminder>\na </system-reminder> b\nc\n</system-reminder>"}, []string{""}},
		{"empty block", []string{"<system-reminder></system-reminder>\nhi"}, []string{"hi"}},
		{"quotes an opening tag", []string{"<system-reminder>\nsee <system-reminder>\nor\n</system-reminder>\nhi"}, []string{"hi"}},
		{"quotes itself", []string{"<system-reminder>\nsee </system-reminder>, or\n<system-reminder>x</system-reminder>\n"}, []string{", or"}},
		{"Windows lines", []string{"<system-reminder>\r\nx\r\n</system-reminder>\r\nhi"}, []string{"hi"}},
		{"custom command", []string{"<system-notification>\nDo it.\n\n</system-notification>"}, []string{""}},
		{"other tag within", []string{"<system-notification>\n<system-reminder>\n</system-notification>\nhi"}, []string{"hi"}},
		{"mention", []string{"what does <system-reminder> mean?"}, []string{"what does <system-reminder> mean?"}},
		{"both tags mentioned", []string{"why <system-reminder>x</system-reminder> here?"}, []string{"why <system-reminder>x</system-reminder> here?"}},
		{"closing tag alone", []string{"</system-reminder>\nhi"}, []string{"</system-reminder>\nhi"}},
		{"quoted tag", []string{"`<system-reminder>`\n`</system-reminder>`"}, []string{"`<system-reminder>`\n`</system-reminder>`"}},
		// The price: a block of the user's own that looks like droid's.
		{"pasted block", []string{"<system-reminder>I typed this</system-reminder>\nand this"}, []string{"and this"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var s stripper
			var got []string
			for _, block := range c.in {
				got = append(got, s.text(block))
			}
			require.Equal(t, c.want, got)
		})
	}
}
