package session_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
)

// An idle session has few goroutines, those that read, write and wait for its droid among them, and a parked one has its
// owner and little else.
func TestSessionsHaveFewGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sessions = 10
		e := connect(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error { return d.Say("", "Seen.") })))
		e.agent.Config.ParkAfter = time.Minute
		before := runtime.NumGoroutine()
		for range sessions {
			e.beginSession()
			require.Equal(t, "end_turn", e.run("go"))
		}
		synctest.Wait()
		const fakes = 3 // goroutines of each scripted droid, which runs in this process
		t.Logf("%d sessions, idle: %d goroutines", sessions, runtime.NumGoroutine()-before)
		require.LessOrEqual(t, runtime.NumGoroutine()-before, sessions*(6+fakes))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		t.Logf("%d sessions, parked: %d goroutines", sessions, runtime.NumGoroutine()-before)
		require.LessOrEqual(t, runtime.NumGoroutine()-before, 2*sessions)
	})
}
