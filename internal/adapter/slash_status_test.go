package adapter

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
)

// The status names droid's version, and an id that two things have once.
func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		e := agentOn(t, f, filepath.Join(t.TempDir(), "sessions"))
		e.beginSession()
		status := func() string {
			before := len(e.updates())
			require.Equal(t, "end_turn", e.run("/status"))
			return strings.Join(e.updates()[before:], "\n")
		}
		text := status()
		require.Contains(t, text, "droid 0.225.2: /usr/bin/droid, protocol ")
		require.Equal(t, 1, strings.Count(text, e.session))
		require.Equal(t, "end_turn", e.run("one"))
		require.Equal(t, "end_turn", e.run("/compact"))
		text = status()
		require.Contains(t, text, "- session "+e.session+"\n- it goes on in droid's session "+f.made()+"\n")
	})
}
