//go:build e2e && linux

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// What is asked in the moment in which droid dies is served by the next droid.
func TestAskedAsDroidDies(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hello."})
		s := startAgent(t, h).open(h)
		require.Equal(t, "Hello.", s.prompt("hello").end(turnLimit).text())
		mode := "spec"
		failed := map[string]int{}
		moments := []time.Duration{0, 2 * time.Millisecond, 10 * time.Millisecond}
		if testing.Short() {
			moments = moments[1:2]
		}
		for _, after := range moments {
			for _, method := range []string{"session/load", "session/resume", "session/fork", "session/set_mode", "session/prompt"} {
				h.killDroid(t)
				time.Sleep(after)
				params := h.params(s.id)
				switch method {
				case "session/set_mode":
					params = map[string]any{"sessionId": s.id, "modeId": mode}
					mode = map[string]string{"spec": "normal", "normal": "spec"}[mode]
				case "session/prompt":
					params = promptParams(s.id)
				}
				if _, err := s.call(method, params); err != nil {
					failed[method+": "+err.Message]++
				}
				require.Nil(t, s.prompt("hello").end(turnLimit).Err, "afterwards")
			}
		}
		require.Empty(t, failed)
		requests := model.Requests()
		require.Equal(t, 1+6*len(moments), strings.Count(string(requests[len(requests)-1].Body), `"hello"`), "the model has each prompt once")
	})
}
