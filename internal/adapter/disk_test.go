package adapter

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/files"
)

// What is to be let go of is let go of, though the disk hangs where something else is.
func TestAtEndBesideOneThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &Agent{log: zap.NewNop(), disk: files.NewCalls(diskCalls, diskTime)}
		hang, released := make(chan struct{}), false
		a.atEnd("release", releaseTime, func() { <-hang })
		a.atEnd("release", releaseTime, func() { released = true })
		require.True(t, released)
		close(hang)
		synctest.Wait()
	})
}
