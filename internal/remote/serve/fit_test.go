package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A client gets nothing that it did not declare of a session whose agent was started for one that declares more: live, from the journal, and
// while it loads the session.
func TestClientThatDeclaresLess(t *testing.T) {
	const more = `{"_meta":{"terminal_output":true,"jetbrains":{"air":{"version":1,"capabilities":["asyncTasks"]}}},"plan":{},"session":{"compaction":{},"notices":{},"configOptions":{"boolean":{}}}}`
	const options = `[{"id":"a","type":"select"},{"id":"b","type":"boolean"}]`
	inHouse(t, func(t *testing.T, h *house) {
		one, a := h.client("Zed", more)
		one.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		a.answer(a.next(), `{"sessionId":"s1","configOptions":`+options+`}`)
		require.Contains(t, one.take()[0], "boolean")
		two, own := h.client("Zed", "{}")
		two.load("s1")
		require.Equal(t, []string{`l= {"configOptions":[{"id":"a","type":"select"}]}`}, two.take())
		updates := []string{
			`{"sessionUpdate":"notice","severity":"info","title":"T","description":"D"}`,
			`{"sessionUpdate":"compaction_update","compactionId":"c","status":"in_progress"}`,
			`{"sessionUpdate":"compaction_update","compactionId":"c","status":"completed"}`,
			`{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"p","entries":[{"content":"x"}]}}`,
			`{"sessionUpdate":"plan_update","plan":{"type":"markdown","planId":"p","content":"the plan"}}`,
			`{"sessionUpdate":"async_task_spawned","asyncTaskId":"t"}`,
			`{"sessionUpdate":"config_option_update","configOptions":` + options + `}`,
			`{"sessionUpdate":"tool_call","toolCallId":"t","title":"make","content":[{"type":"terminal","terminalId":"t"}],"_meta":{"terminal_info":{"terminal_id":"t","cwd":"/w"}}}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"t","_meta":{"terminal_output":{"terminal_id":"t","data":"one\n"}}}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"t","_meta":{"terminal_output":{"terminal_id":"t","data":"two\n"}}}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","content":[{"type":"terminal","terminalId":"t"}],"_meta":{"x":1,"jetbrains":{"air":{}},"terminal_exit":{"terminal_id":"t","exit_code":0}}}`,
		}
		want := []string{
			`{"content":{"text":"\n\nT\n\nD\n\n","type":"text"},"sessionUpdate":"agent_message_chunk"}`,
			`{"content":{"text":"\n\nThe conversation was compacted.\n\n","type":"text"},"sessionUpdate":"agent_message_chunk"}`,
			`{"entries":[{"content":"x"}],"sessionUpdate":"plan"}`,
			`{"content":{"text":"\n\nthe plan\n\n","type":"text"},"sessionUpdate":"agent_message_chunk"}`,
			`{"configOptions":[{"id":"a","type":"select"}],"sessionUpdate":"config_option_update"}`,
			`{"sessionUpdate":"tool_call","title":"make","toolCallId":"t"}`,
			`{"_meta":{"x":1},"content":[{"content":{"text":"` + "```console\\none\\ntwo\\n```" + `","type":"text"},"type":"content"}],"sessionUpdate":"tool_call_update","status":"completed","toolCallId":"t"}`,
		}
		for _, u := range updates {
			a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":%s}}`, u)
		}
		require.Equal(t, want, two.updates(), "live")
		require.Len(t, one.updates(), len(updates))
		three, _ := h.client("Zed", "{}")
		three.load("s1")
		require.Equal(t, want, three.updates(), "from the journal")
		three.Gone()
		one.Gone()
		two.load("s1")
		loading := a.next()
		for _, u := range updates {
			a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":%s}}`, u)
		}
		require.Equal(t, want, two.updates(), "while it loads")
		a.answer(loading, `{"configOptions":`+options+`}`)
		require.Equal(t, []string{`l= {"configOptions":[{"id":"a","type":"select"}]}`}, two.take())
		own.hearsNothing()
	})
}

// updates are what the client was told of sessions since the last time, without ids and marks of messages.
func (c *fakeClient) updates() (updates []string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range c.heard {
		var m message
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
