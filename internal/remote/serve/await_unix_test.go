//go:build unix

package serve

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// An agent that fails says why on stderr. For one that a signal ended, the last line is about something else.
func TestHowAnAgentEnded(t *testing.T) {
	for script, how := range map[string]string{
		"echo no room >&2; exit 1":         "exit status 1: no room",
		"echo droid died >&2; kill -9 $$":  "signal: killed",
		"echo droid died >&2; kill -15 $$": "signal: terminated",
	} {
		p, err := Options{Stderr: io.Discard}.startProcess(AttachParams{Program: "/bin/sh", Args: []string{"-c", script}}, io.Discard)
		require.NoError(t, err)
		require.Equal(t, how, p.Await())
		stdin, stdout := p.Pipes()
		require.NoError(t, stdin.Close())
		require.NoError(t, stdout.Close())
	}
}
