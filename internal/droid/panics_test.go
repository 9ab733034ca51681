package droid

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest"

	"droid-acp/internal/droid/stream"
)

// TestPanicEndsThisDroidAlone checks each goroutine of the client: a panic also ends the process, and callers get the reason.
func TestPanicEndsThisDroidAlone(t *testing.T) {
	for where, word := range map[string]string{
		"reading":         "droid wrote a line that is no message",
		"reading stderr":  "droid wrote to stderr",
		"at its end":      "droid ended",
		"shutting down":   "droid does not end at the end of its input",
		"learning its id": "droid speaks",
	} {
		t.Run(where, func(t *testing.T) {
			log := zaptest.NewLogger(t, zaptest.WrapOptions(zap.Hooks(func(e zapcore.Entry) error {
				if strings.Contains(e.Message, word) {
					panic("test")
				}
				return nil
			})))
			mode := map[string]string{"reading": "noise", "reading stderr": "suicide", "shutting down": "stubborn"}[where]
			if mode == "" {
				mode = "noise"
			}
			cmd := fakeCommand(mode)
			cmd.Dir = t.TempDir()
			c, err := start(cmd, log, shortBounds)
			require.NoError(t, err)
			drain(t, c)
			_ = c.AddUserMessage(testContext(t), stream.UserMessage{RequestID: "1", Text: "x"}) // some fakes answer
			if where == "shutting down" {
				_ = c.Close(testContext(t))
			} else {
				c.beginClose()
			}
			within(t, "the end of droid", c.Exited())
			require.True(t, c.proc.hasEnded())
			require.Error(t, c.Call(testContext(t), "droid.anything", nil, nil))
			if where == "reading" {
				require.ErrorContains(t, c.ExitError(), "droid-acp failed: test")
			}
		})
	}
}
