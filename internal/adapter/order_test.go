package adapter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
	"droid-acp/internal/fakedroid"
)

// inSession makes the params of a method from the session's id and what else there is.
func (e *editor) inSession(more string) string {
	return fmt.Sprintf(`{"sessionId":%q%s}`, e.session, more)
}

// TestQuirk35_ProcessGoesOnInItsCopy: what is said after a copy was made belongs to the
// session, not to its copy.
func TestQuirk35_ProcessGoesOnInItsCopy(t *testing.T) {
	for name, fork := range map[string]func(e *editor) (copied string){
		"session/fork": func(e *editor) string {
			answer := e.call("session/fork", sessionParamsOf(e.session))
			require.Nil(e.t, answer.Error)
			var result struct{ SessionID string }
			require.NoError(e.t, json.Unmarshal(answer.Result, &result))
			return result.SessionID
		},
		"/fork": func(e *editor) string {
			require.Equal(e.t, "end_turn", e.run("/fork"))
			said := strings.Join(e.updates(), "\n")
			_, id, _ := strings.Cut(said, "The copy is the session `")
			return id[:36]
		},
	} {
		t.Run(name, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				e := begin(t, playing(repeats(), v, fakedroid.WithSessions(new(fakedroid.Sessions))))
				require.Equal(t, "end_turn", e.run("before"))
				copied := fork(e)
				require.Equal(t, "end_turn", e.run("behind"))
				for id, has := range map[string]bool{e.session: true, copied: false} {
					from := len(e.received())
					require.Nil(t, e.call("session/load", sessionParamsOf(id)).Error)
					history, _ := json.Marshal(e.received()[from:])
					require.Contains(t, string(history), "before")
					require.Equal(t, has, strings.Contains(string(history), "behind"), "in the copy: %v", id == copied)
				}
			})
		})
	}
}

// A /fork that was cancelled leaves no process in the copy: droid may have made it.
func TestQuirk35_CancelledFork(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		sessions := fakedroid.WithSessions(new(fakedroid.Sessions))
		slow := func(line []byte) {
			if strings.Contains(string(line), "fork_session") {
				time.Sleep(time.Second)
			}
		}
		e := begin(t, func(int) (*droid.Client, error) { return tappedDroid(slow, repeats(), v, sessions), nil })
		require.Equal(t, "end_turn", e.run("before"))
		fork := e.prompt("/fork")
		time.Sleep(500 * time.Millisecond)
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(fork)))
		require.Equal(t, "end_turn", e.run("behind"))
		from := len(e.received())
		require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
		history, _ := json.Marshal(e.received()[from:])
		require.Contains(t, string(history), "behind")
	})
}
