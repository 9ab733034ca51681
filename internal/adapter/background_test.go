package adapter

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// TestBackgroundCommandEndsTold: whatever ends a droid that has left a command in the background, the user is
// asked before, or told.
func TestBackgroundCommandEndsTold(t *testing.T) {
	background := touch
	background.Input = fakedroid.Fields{"command": "sleep 1000", "fireAndForget": true}
	background.Result = "Background process started (PID: 554)\n"
	server := `,"cwd":"/workspace","mcpServers":[{"name":"m","command":"/bin/true","args":[],"env":[]}]`
	for name, end := range map[string]func(e *editor){
		"/compact":                   func(e *editor) { require.Equal(t, "end_turn", e.run("/compact")) },
		"/rewind":                    func(e *editor) { require.Equal(t, "end_turn", e.run("/rewind 1")) },
		"a load with a server":       func(e *editor) { require.Nil(t, e.call("session/load", e.inSession(server)).Error) },
		"session/close":              func(e *editor) { require.Nil(t, e.call("session/close", e.inSession("")).Error) },
		"a turn that is not stopped": func(e *editor) { e.inside(func(s *Session) { s.endDroid(killed, "test") }) },
	} {
		t.Run(name, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				f := newFleet(t, v, eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
					if p.Text == "background" {
						return d.Use("", "", background)
					}
					return d.Say("", "re: "+p.Text)
				}))
				runs := true
				e := begin(t, func(n int) (*droid.Client, error) {
					client, err := f.start(n)
					client.PlayChildren(func() bool { return n <= 2 && runs })
					return client, err
				})
				said := func() string { return strings.Join(e.updates(), "\n") }
				require.Equal(t, "end_turn", e.run("background"))
				goesOn := name == "/rewind" && strings.Contains(t.Name(), string(fakedroid.V0225))
				if strings.HasPrefix(name, "/") && !goesOn {
					e.ask = func(p permission) string {
						text, _ := json.Marshal(p.ToolCall.Content)
						require.Contains(t, string(text), "in the background ends with that")
						return "keep"
					}
					end(e)
					require.Contains(t, said(), "The conversation stays as it is.")
					require.NotContains(t, said(), "was ended")
				}
				e.ask = func(p permission) string { return p.optionOf("allow_once") }
				end(e)
				if name != "session/close" {
					require.Equal(t, "end_turn", e.run("hello"))
				}
				require.Equal(t, !goesOn, strings.Contains(said(), "ran in the background was ended"), said())
			})
		})
	}
}
