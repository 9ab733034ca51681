//go:build e2e && linux

package e2e

import (
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// ignoredSignals finds the mask in a /proc/PID/status, within JSON.
var ignoredSignals = regexp.MustCompile(`SigIgn:(?:\\t|\s)*([0-9a-f]{16})`)

// What a command writes into a pipe that nobody reads any more ends it, be it the
// user's or droid's: the agent, and droid itself, live without SIGPIPE, but do
// not pass that on.
func TestCommandsDieOfBrokenPipes(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("look", modelserver.Step{Tools: []modelserver.ToolCall{execute("a", "grep SigIgn /proc/self/status")}}, modelserver.Step{Text: "Seen."})
		s := startAgent(t, h, "--shell").onPermission(allowOnce).open(h)
		for _, prompt := range []string{"!grep SigIgn /proc/self/status", "look"} {
			masks := 0
			for _, u := range s.prompt(prompt).end(turnLimit).Updates {
				if found := ignoredSignals.FindStringSubmatch(u.raw); found != nil {
					mask, err := strconv.ParseUint(found[1], 16, 64)
					require.NoError(t, err)
					require.Zero(t, mask&(1<<(syscall.SIGPIPE-1)), prompt)
					masks++
				}
			}
			require.NotZero(t, masks, prompt)
		}
	})
}
