package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
)

// A joining client's declared abilities that the session's agent does not use are noted. Updates that it did not declare are omitted: live,
// from the journal, and while it loads the session.
func TestAbilities(t *testing.T) {
	const options = `[{"id":"a","type":"select"},{"id":"b","type":"boolean"}]`
	const declared = `"fs":{"readTextFile":true,"writeTextFile":true},"elicitation":{"form":{},"url":{}},"plan":{},"subagents":{},"session":{"compaction":{},"notices":{},"configOptions":{"boolean":{}}},` +
		`"_meta":{"terminal_output":true,"jetbrains":{"air":{"version":1,"capabilities":["asyncTasks","sessionFailure"]}}}`
	said := func(text string) string {
		return `{"content":{"text":"\n\n` + text + `\n\n","type":"text"},"sessionUpdate":"agent_message_chunk"}`
	}
	table := []struct {
		name, declares string
		updates, want  []string
	}{
		{name: "files in the editor", declares: `"fs":{"readTextFile":true,"writeTextFile":true}`},
		{name: "forms", declares: `"elicitation":{"form":{}}`},
		{name: "links to open", declares: `"elicitation":{"url":{}}`},
		{"terminals with output", `"_meta":{"terminal_output":true}`, []string{
			`{"sessionUpdate":"tool_call","toolCallId":"t","title":"make","content":[{"type":"terminal","terminalId":"t"}],"_meta":{"terminal_info":{"terminal_id":"t","cwd":"/w"}}}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"t","_meta":{"terminal_output":{"terminal_id":"t","data":"one\n"}}}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"t","_meta":{"terminal_output":{"terminal_id":"t","data":"two\n"}}}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","content":[{"type":"terminal","terminalId":"t"}],"_meta":{"x":1,"terminal_exit":{"terminal_id":"t","exit_code":0}}}`,
		}, []string{
			`{"sessionUpdate":"tool_call","title":"make","toolCallId":"t"}`,
			`{"_meta":{"x":1},"content":[{"content":{"text":"` + "```console\\none\\ntwo\\n```" + `","type":"text"},"type":"content"}],"sessionUpdate":"tool_call_update","status":"completed","toolCallId":"t"}`,
		}},
		{"plans beside the conversation", `"plan":{}`, []string{
			`{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"p","entries":[{"content":"x"}]}}`,
			`{"sessionUpdate":"plan_update","plan":{"type":"markdown","planId":"p","content":"the plan"}}`,
		}, []string{`{"entries":[{"content":"x"}],"sessionUpdate":"plan"}`, said("the plan")}},
		{"subagents as sessions", `"subagents":{}`, []string{
			`{"sessionUpdate":"subagent_spawned","subagentSessionId":"c1","name":"worker","task":"look","capabilities":{}}`,
			`{"sessionUpdate":"subagent_state_update","subagentSessionId":"c1","state":"completed"}`,
		}, nil},
		{"background tasks", `"_meta":{"jetbrains":{"air":{"version":1,"capabilities":["asyncTasks"]}}}`, []string{
			`{"sessionUpdate":"async_task_spawned","asyncTaskId":"t"}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"make","_meta":{"x":1,"jetbrains":{"air":{}}}}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"t","_meta":{"jetbrains":{"air":{}}}}`,
		}, []string{`{"_meta":{"x":1},"sessionUpdate":"tool_call_update","title":"make","toolCallId":"t"}`}},
		{"failures with what to do", `"_meta":{"jetbrains":{"air":{"version":1,"capabilities":["sessionFailure"]}}}`, []string{
			`{"sessionUpdate":"session_info_update","_meta":{"jetbrains":{"air":{"version":1,"sessionFailure":{"id":"x"}}}}}`,
			`{"sessionUpdate":"session_info_update","title":"T"}`,
		}, []string{`{"sessionUpdate":"session_info_update","title":"T"}`}},
		{"marks of a compaction", `"session":{"compaction":{}}`, []string{
			`{"sessionUpdate":"compaction_update","compactionId":"c","status":"in_progress"}`,
			`{"sessionUpdate":"compaction_update","compactionId":"c","status":"completed"}`,
			`{"sessionUpdate":"compaction_update","compactionId":"c","status":"failed","error":"No model."}`,
		}, []string{said("The conversation was compacted."), said("The conversation was not compacted. No model.")}},
		{"notices", `"session":{"notices":{}}`, []string{`{"sessionUpdate":"notice","severity":"info","title":"T","description":"D"}`}, []string{said(`T\n\nD`)}},
		{"switches among the options", `"session":{"configOptions":{"boolean":{}}}`, []string{`{"sessionUpdate":"config_option_update","configOptions":` + options + `}`},
			[]string{`{"configOptions":[{"id":"a","type":"select"}],"sessionUpdate":"config_option_update"}`}},
	}
	var names []string
	for _, row := range table {
		names = append(names, row.name)
		t.Run(row.name, func(t *testing.T) {
			withServer(t, func(t *testing.T, h *testServer) {
				one := h.attached("{}", AttachParams{Program: "/p"})
				one.begins()
				h.agents()[0].answer(h.agents()[0].next(), `{"sessionId":"s1"}`)
				two := h.attached("{"+row.declares+"}", AttachParams{Program: "/p"})
				two.load("s1")
				require.Equal(t, use(row.name), two.take()[0])
			})
			withServer(t, func(t *testing.T, h *testServer) {
				one, a := h.client("zed", "{"+declared+"}")
				one.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
				a.answer(a.next(), `{"sessionId":"s1","configOptions":`+options+`}`)
				require.Contains(t, one.take()[0], "boolean")
				two, own := h.client("zed", "{}")
				two.load("s1")
				require.Equal(t, []string{`l= {"configOptions":[{"id":"a","type":"select"}]}`}, two.take())
				say := func() {
					for _, u := range row.updates {
						a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":%s}}`, u)
					}
				}
				say()
				require.Equal(t, row.want, two.updates(), "live")
				require.Len(t, one.updates(), len(row.updates))
				three, _ := h.client("zed", "{}")
				three.load("s1")
				require.Equal(t, row.want, three.updates(), "from the journal")
				three.Disconnected()
				one.Disconnected()
				two.load("s1")
				loading := a.next()
				say()
				require.Equal(t, row.want, two.updates(), "while it loads")
				a.answer(loading, `{"configOptions":`+options+`}`)
				require.Equal(t, []string{`l= {"configOptions":[{"id":"a","type":"select"}]}`}, two.take())
				own.hearsNothing()
			})
		})
	}
	var all capabilities
	all.Files, all.SafeFiles, all.Forms, all.URLs, all.TerminalOutput, all.Plans, all.AsyncTasks, all.Compaction, all.Notices, all.BooleanOptions, all.SessionFailures = true, true, true, true, true, true, true, true, true, true, true
	all.Subagents = protocol.SubagentSessions
	require.Equal(t, names, extraAbilities(all, capabilities{}))
}

// updates returns the session updates that the client got since the last call, without IDs and marks of messages.
func (c *fakeClient) updates() (updates []string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range c.heard {
		var m rpcMessage
		require.NoError(c.t, json.Unmarshal([]byte(line), &m))
		if update, ok := m.Params["update"].(map[string]any); ok {
			delete(update, "messageId")
			if update["content"] != nil && strings.HasPrefix(fmt.Sprint(update["sessionUpdate"]), "agent_") {
				delete(update, "_meta")
			}
			text, _ := json.Marshal(update)
			updates = append(updates, string(text))
		}
	}
	c.heard = nil
	return updates
}
