package bounded

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// What is to be let go of is let go of, though the disk hangs where something else is.
func TestAtEndBesideOneThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(t.Context(), zap.NewNop())
		hang, released := make(chan struct{}), false
		c.AtEnd("release", ReleaseTime, func() { <-hang })
		c.AtEnd("release", ReleaseTime, func() { released = true })
		require.True(t, released)
		close(hang)
		synctest.Wait()
	})
}
