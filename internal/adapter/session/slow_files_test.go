package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/render"
	"droid-acp/internal/testing/fakedroid"
)

// neverRead makes the files of an editor's agent hang, as those of a dead mount
// do, until the test ends.
func neverRead(t *testing.T, e *editor) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	e.agent.Texts = session.NewFileReaderOf(func(string) render.File {
		<-hang
		return render.File{}
	})
}

// A file that cannot be read during the turn delays nothing for long: the request for permission comes with a diff made from the input, a
// cancel takes effect at once, and the turn ends.
func TestFileThatHangsHoldsUpNothing(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(uses(create), v))
		neverRead(t, e)
		began := time.Now()
		require.Equal(t, "end_turn", e.run("go"))
		require.Less(t, time.Since(began), 3*time.Second)
		require.Contains(t, e.updates(), "ask")
		require.Contains(t, e.updates(), "tool_call_update t2 completed")
	})
}

// While a file is being read the session listens: a cancel reaches droid before the
// read is given up.
func TestCancelIsHeardWhileAFileIsRead(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(uses(create), v))
		neverRead(t, e)
		id := e.prompt("go")
		synctest.Wait()
		began := time.Now()
		e.cancel()
		heard := false
		synctest.Wait()
		e.inside(func(s *session.Session) { heard = !s.Prompts().RunsOne() || s.Prompts().RefusesQuestions() })
		require.True(t, heard)
		require.Zero(t, time.Since(began))
		require.Equal(t, "cancelled", ended(e.await(id)))
		require.NotContains(t, e.updates(), "ask")
	})
}

// So is droid's death: what waits for the file is shown without it, and a droid that is about to be gone asks nothing any more.
func TestDeathIsHeardWhileAFileIsRead(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		m := &mortal{script: uses(create), options: []fakedroid.Option{v}}
		e := begin(t, m.start)
		neverRead(t, e)
		id := e.prompt("go")
		synctest.Wait()
		began := time.Now()
		m.die()
		require.NotNil(t, e.await(id).Error)
		require.Less(t, time.Since(began), 100*time.Millisecond)
		require.NotContains(t, e.updates(), "ask")
	})
}

// Events before an answer of droid are applied before it, even while files are being read for earlier events.
func TestModeIsHeardWhileAFileIsRead(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(uses(create), v))
		neverRead(t, e)
		id := e.prompt("go")
		synctest.Wait()
		require.Nil(t, e.set("mode", "auto-high").Error)
		require.Nil(t, e.set("mode", "spec").Error)
		require.Equal(t, "end_turn", ended(e.await(id)))
	})
}
