package serve

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Files and forms go to the client that sent the last prompt, if it supports them; a program that decides by itself does not take them from
// a person.
func TestFilesFollowThePrompt(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		clients := map[string]*fakeClient{}
		var a *fakeAgent
		for _, name := range []string{"zed", "agent-shell", "without files", "acpx"} {
			capabilities := everything
			if name == "without files" {
				capabilities = "{}"
			}
			c, own := h.client(name, capabilities)
			clients[name] = c
			if a == nil {
				a = own
				c.opens(a, "s1")
			} else {
				c.load("s1")
				require.Len(t, c.take(), 1)
			}
		}
		asked := func() (of string) {
			for _, ask := range []string{
				`"method":"fs/read_text_file","params":{"sessionId":"s1","path":"/w/a"}`,
				`"method":"elicitation/create","params":{"sessionId":"s1","mode":"form","message":"m","requestedSchema":{}}`,
			} {
				a.say(`{"jsonrpc":"2.0","id":5,%s}`, ask)
				var to []string
				for name, c := range clients {
					if heard := c.take(); len(heard) > 0 {
						require.Len(t, heard, 1)
						to = append(to, name)
					}
				}
				require.Len(t, to, 1)
				require.Contains(t, []string{"", to[0]}, of)
				of = to[0]
			}
			return of
		}
		require.Equal(t, "zed", asked())
		for _, step := range []struct{ prompts, has string }{
			{"agent-shell", "agent-shell"}, {"without files", "agent-shell"}, {"acpx", "agent-shell"}, {"zed", "zed"}, {"agent-shell", "agent-shell"},
		} {
			clients[step.prompts].prompts(a, "s1", "go")
			for _, c := range clients {
				c.take()
			}
			require.Equal(t, step.has, asked(), "after a prompt of %s", step.prompts)
		}
		require.Contains(t, h.Status().Sessions[0].Clients[0], "agent-shell", "ps shows it first")
		clients["agent-shell"].Disconnected()
		clients["zed"].take()
		require.Equal(t, "zed", asked())
	})
}

// A client whose fs methods are not known to be safe is not asked instead of one whose methods are; if the agent of such a client asks for
// files, as with --files editor, every client is.
func TestFilesOfAnUnknownClientThatJoins(t *testing.T) {
	for first, follows := range map[string]bool{"zed": false, "somebody new": true} {
		withServer(t, func(t *testing.T, h *testServer) {
			own, a := h.client(first, everything)
			own.opens(a, "s1")
			joined, _ := h.client("somebody else", everything)
			joined.load("s1")
			joined.prompts(a, "s1", "go")
			joined.take()
			own.take()
			a.say(`{"jsonrpc":"2.0","id":5,"method":"fs/write_text_file","params":{"sessionId":"s1","path":"/w/a","content":"x"}}`)
			require.Equal(t, follows, len(joined.take()) == 1)
			require.Equal(t, !follows, len(own.take()) == 1)
		})
	}
}
