//go:build e2e && linux

package e2e

import (
	"testing"
	"time"

	"droid-acp/internal/testing/modelserver"
)

// Tests start in the order of the files' names. This one mostly waits for minutes, so it is first: 0.225 repeats a failed call for 200 s.
func TestModelFails(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("go", modelserver.Step{Status: 500})
		s := startAgent(t, h).open(h)
		loud(t, s.prompt("go").end(5*time.Minute))
	})
}
