package adapter

import (
	"encoding/json"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/problem"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
	"droid-acp/internal/testing/acptest"
	"droid-acp/internal/testing/fakedroid"
)

// hostile is what a title must not bring to the screen.
const hostile = "\x1b[2K\x1b[1A\r\u202e\u009b1A\u200b\nsecond"

// TestErrorsAreSafe: what went wrong may be told in the words of others.
func TestErrorsAreSafe(t *testing.T) {
	for _, err := range []*acp.RequestError{problem.Internal("kind", hostile), problem.InvalidParams("%s", hostile)} {
		requireSafe(t, err.Message, false)
		require.Contains(t, err.Message, "second")
	}
	requireSafe(t, encoded(t, problem.Internal("kind", hostile).Data), true)
	bubble(t, func(t *testing.T) {
		e := begin(t, playing(says("hi")))
		for _, method := range []string{hostile, "_droid/" + hostile} {
			e.send(`{"jsonrpc":"2.0","id":"m","method":` + encoded(t, method) + `,"params":{}}`)
			answer := e.await(`"m"`)
			require.NotNil(t, answer.Error)
			requireSafe(t, encoded(t, answer.Error), false)
		}
		answer := e.call("session/set_mode", `{"sessionId":`+encoded(t, hostile)+`,"modeId":`+encoded(t, hostile)+`}`)
		requireSafe(t, encoded(t, answer.Error), false)
		answer = e.call("session/set_mode", `{"sessionId":"`+e.session+`","modeId":`+encoded(t, hostile)+`}`)
		requireSafe(t, encoded(t, answer.Error), false)
	})
}

// TestTextsOfTheModelStayAsTheyAre: they are not for us to change.
func TestTextsOfTheModelStayAsTheyAre(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := begin(t, playing(says("Answer"+hostile)))
		require.Equal(t, "end_turn", e.run("go"))
		require.Contains(t, e.updates(), "agent: Answer"+hostile)
	})
}

// TestPermissionShowsWhatItRuns: from droid to the editor's buttons.
func TestPermissionShowsWhatItRuns(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		tool := touch
		tool.Input = fakedroid.Fields{"command": "rm -rf /" + hostile}
		tool.Details = fakedroid.Fields{"fullCommand": "rm -rf /" + hostile, "impactLevel": "medium"}
		e := begin(t, playing(uses(tool), v))
		var raw json.RawMessage
		e.onAsk = func(_, params json.RawMessage) bool { raw = params; return false }
		require.Equal(t, "end_turn", e.run("go"))
		var p permission
		require.NoError(t, json.Unmarshal(raw, &p))
		require.Contains(t, p.ToolCall.Title, `rm -rf /\x1b[2K\x1b[1A`)
		requireSafe(t, encoded(t, p.ToolCall.Title), false)
		require.Contains(t, *p.ToolCall.Content[0].Content.Text, `rm -rf /\x1b[2K\x1b[1A`)
		requireSafe(t, encoded(t, *p.ToolCall.Content[0].Content.Text), true)
	})
}

// TestOwnWordsAreSafe: what this agent says of titles, servers and files.
func TestOwnWordsAreSafe(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := begin(t, playing(says("hi")))
		e.inside(func(s *Session) {
			s.translate(quirks.TitleChanged{Title: hostile}, nil)
			s.tell(show.Thought("title: " + hostile))
		})
		got := strings.Join(e.updates(), "\n")
		require.Contains(t, got, `title: \x1b[2K`)
		for line := range strings.Lines(got) {
			requireSafe(t, strings.TrimSuffix(line, "\n"), false)
		}
	})
}

// TestWhatIsShownBeforeIsSafe: for editors that show only the title of a request, the
// rest is shown before it. That text is as safe as the request.
func TestWhatIsShownBeforeIsSafe(t *testing.T) {
	steered := touch
	steered.Input = fakedroid.Fields{"command": "touch a" + hostile}
	steered.Details = fakedroid.Fields{"fullCommand": "touch a" + hostile, "impactLevel": "medium", "riskLevelReason": "none" + hostile}
	for name, tools := range map[string][]fakedroid.Tool{"one": {steered}, "several": {steered, create}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				e := beginNamed(t, "", "{}", playing(uses(tools...), fakedroid.WithVersion(fakedroid.V099)))
				var before []string
				e.ask = func(p permission) string {
					before = append(before, e.messages(), string(p.ToolCall.Title))
					var content []protocol.ToolContent
					_ = json.Unmarshal([]byte(e.lastContent(p.ToolCall.ToolCallID)), &content)
					for _, c := range content {
						if c.Content != nil && c.Content.Text != nil {
							before = append(before, *c.Content.Text)
						}
					}
					return ""
				}
				require.Equal(t, "end_turn", e.run("go"))
				require.Contains(t, strings.Join(before, ""), `touch a\x1b[2K`)
				for _, text := range before {
					requireSafe(t, encoded(t, text), true)
				}
			})
		})
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}

func requireSafe(t *testing.T, shown string, lines bool) {
	t.Helper()
	require.NoError(t, acptest.CheckSafe(shown, lines))
}
