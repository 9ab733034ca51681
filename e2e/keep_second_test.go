//go:build e2e && linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/modelserver"
)

// windowCall is a request of a window about a session that another window has open and works in.
type windowCall struct {
	method string
	params map[string]any
	differ string // the differing answer with --keep; "" if it is the same
}

// windowCalls has each method of the agent. The last ones are for a window that has loaded the session.
func windowCalls(t *testing.T, h home, id string) []windowCall {
	with := func(more map[string]any) map[string]any {
		more["sessionId"] = id
		return more
	}
	elsewhere, titled := filepath.Join(h.work, "elsewhere"), "ok" // the one agent that has it can
	if h.version != "" && !h.has(t, stream.RenamesSessions) {
		titled = "refused: This droid (protocol " + h.protocol(t).String() + ") cannot rename a session; droid 0.215 and newer can. Update droid: `droid update`, or `npm install -g droid`."
	}
	return []windowCall{
		{"initialize", map[string]any{"protocolVersion": 1}, ""},
		{"authenticate", map[string]any{"methodId": "no-such"}, ""},
		{"session/new", map[string]any{"cwd": h.work, "mcpServers": []any{}}, ""},
		{"session/list", map[string]any{}, ""},
		{"session/status", with(map[string]any{}), ""},
		{"session/prompt", with(map[string]any{"prompt": []any{map[string]any{"type": "text", "text": "hello"}}}), ""},
		{"session/set_mode", with(map[string]any{"modeId": "spec"}), ""},
		{"session/set_model", with(map[string]any{"modelId": "no-such"}), ""},
		{"session/set_config_option", with(map[string]any{"configId": "mode", "value": "spec"}), ""},
		{"_session/steering", with(map[string]any{"prompt": []any{}}), ""},
		{"_session/async_task/stop", with(map[string]any{"asyncTaskId": "none"}), ""},
		{"_droid-acp/unknown", with(map[string]any{}), ""},
		{"session/close", with(map[string]any{}), ""},
		{"session/delete", with(map[string]any{}), ""},
		{"session/fork", with(map[string]any{"cwd": h.work, "mcpServers": []any{}}), ""},
		{"session/set_title", with(map[string]any{"title": "A title"}), titled},
		{"session/load", with(map[string]any{"cwd": elsewhere, "mcpServers": []any{}}),
			"refused: The session cannot be opened: a prompt runs in it in " + h.work + ", so it cannot be opened in " + elsewhere + " now; wait for its end, or stop it, then load it again"},
		{"session/resume", with(map[string]any{"cwd": h.work, "mcpServers": []any{}}), ""},
		{"session/load", with(map[string]any{"cwd": h.work, "mcpServers": []any{}}), ""},
	}
}

// With --keep each method of a window that has not opened a session has the same effect as without, and does not affect the turn of the
// window that has.
func TestSecondWindow(t *testing.T) {
	t.Parallel()
	for _, version := range droidsOf() {
		t.Run(version, func(t *testing.T) {
			without := secondWindow(t, version, false)
			with := secondWindow(t, version, true)
			require.Equal(t, len(without), len(with))
			for i, call := range windowCalls(t, home{}, "") {
				t.Logf("%-26s without: %s", call.method, without[i].said)
				if with[i].said != without[i].said {
					t.Logf("%-26s    with: %s", "", with[i].said)
				}
				want := without[i].said
				if with[i].differ != "" {
					want = with[i].differ
				}
				require.Equal(t, want, with[i].said, call.method)
			}
		})
	}
}

type windowAnswer struct{ said, differ string }

func secondWindow(t *testing.T, version string, kept bool) (answers []windowAnswer) {
	model := newModel(t)
	model.On("sleep", modelserver.Step{Text: "I sleep. ", Tools: []modelserver.ToolCall{execute("a", "sleep 297")}})
	model.On("there", modelserver.Step{Text: "still"})
	h := newHome(t, version, model.URL())
	start := startAgent
	if kept {
		h, start = h.keeps(t), func(t testing.TB, h home, args ...string) *client { return startKept(t.(*testing.T), h, args...) }
	}
	require.NoError(t, os.Mkdir(filepath.Join(h.work, "elsewhere"), 0o700))
	first := start(t, h).onPermission(allowOnce).open(h)
	require.Equal(t, "still", first.say("are you there?"))
	turn := first.prompt("sleep well")
	h.awaitProcess(t, "sleep 297")
	second := start(t, h).initialize()
	second.notify("session/cancel", map[string]any{"sessionId": first.id})
	for _, call := range windowCalls(t, h, first.id) {
		_, err := second.call(call.method, call.params)
		said := "ok"
		if err != nil {
			said = fmt.Sprintf("refused: %s", strings.ReplaceAll(err.Message, first.id, "ID"))
		}
		answers = append(answers, windowAnswer{strings.ReplaceAll(said, h.dir, "HOME"), strings.ReplaceAll(call.differ, h.dir, "HOME")})
		h.awaitProcess(t, "sleep 297") // the turn runs
	}
	first.notify("session/cancel", map[string]any{"sessionId": first.id})
	require.Equal(t, "cancelled", turn.end(turnLimit).Stop)
	for _, c := range []*client{first.client, second} { // the end of one looks for droids of the other
		_ = c.stdin.Close()
	}
	<-first.exited
	<-second.exited
	return answers
}

// An idle session continues in the directory of the window that opens it there; the other window is informed, and prompts there, too.
func TestSecondWindowInOtherDirectory(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("where", modelserver.Step{Tools: []modelserver.ToolCall{execute("a", "pwd > where")}}, modelserver.Step{Text: "There."})
		h = h.keeps(t)
		elsewhere := filepath.Join(h.dir, "elsewhere")
		require.NoError(t, os.Mkdir(elsewhere, 0o700))
		first := startKept(t, h).onPermission(allowOnce).open(h)
		require.Equal(t, "still", first.nextPrompt(model))
		second := startKept(t, h).onPermission(allowOnce).initialize()
		second.mustCall("session/load", map[string]any{"sessionId": first.id, "cwd": elsewhere, "mcpServers": []any{}}, nil)
		texts, _ := second.agentSaid(0)
		require.Equal(t, []string{"still"}, texts)
		first.prompt("where are you?").done()
		texts, _ = first.agentSaid(0)
		require.Contains(t, strings.Join(texts, ""), "zed has opened this session in `"+elsewhere+"`, where it goes on.")
		where, err := os.ReadFile(filepath.Join(elsewhere, "where"))
		require.NoError(t, err)
		require.Equal(t, elsewhere+"\n", string(where))
		second.catchUp() // with that turn, which would be read as a part of the next
		require.Equal(t, "still", session{second, first.id}.nextPrompt(model))
	})
}

// What one window switches or takes back is visible in the other's next list, and two concurrent prompts with a schema each get their own
// answer.
func TestSwitchesInTwoWindows(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		h = h.keeps(t)
		model.On("four", modelserver.Step{Text: `{"n": 4}`})
		model.On("five", modelserver.Step{Text: `{"n": 5}`})
		self, err := os.Executable()
		require.NoError(t, err)
		file := fmt.Sprintf(`{"mcpServers":{"tiny":{"type":"stdio","command":%q,"args":["server-tiny"],"env":{%q:"x"}}}}`, self, mcpEnv)
		require.NoError(t, os.WriteFile(filepath.Join(h.dir, ".factory", "mcp.json"), []byte(file), 0o600))
		h.addSettings(t, map[string]any{"commandAllowlist": []any{"touch", "make"}})
		one := startKept(t, h).onPermission(rejectOnce).open(h)
		two := session{startKept(t, h).onPermission(rejectOnce).initialize(), one.id}
		two.mustCall("session/load", h.params(one.id), nil)
		says := func(s session, command string) string {
			one.catchUp()
			two.catchUp() // what the other window has caused is not read as a part of the answer
			return s.commandReply(command)
		}
		require.Contains(t, says(one, "/mcp"), "tiny")
		require.Contains(t, says(two, "/mcp disable tiny"), "tiny is off")
		require.Contains(t, says(one, "/mcp"), "tiny: disabled")
		require.Contains(t, says(one, "/mcp enable tiny"), "tiny is on")
		require.NotContains(t, says(two, "/mcp"), "tiny: disabled")
		require.Contains(t, says(one, "/permissions"), "- allowed: `make`")
		require.Contains(t, says(two, "/permissions forget make"), "Taken back: `make`")
		require.NotContains(t, says(one, "/permissions"), "`make`")
		require.Equal(t, []any{"touch"}, h.settings(t)["commandAllowlist"])
		if h.version != oldDroid {
			asked := two.asksIn("five", counts)
			output, _, refused := one.promptIn("four", counts)
			require.Nil(t, refused)
			require.JSONEq(t, `{"n":4}`, output)
			_, l := two.response(asked, turnLimit)
			require.Contains(t, string(l.Result), `"structuredOutput":{"n":5}`)
		}
		for _, c := range []*client{one.client, two.client} { // the end of one looks for droids of the other
			_ = c.stdin.Close()
			<-c.exited
		}
	})
}
