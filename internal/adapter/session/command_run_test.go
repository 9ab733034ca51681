package session_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/testing/fakedroid"
)

// TestWhenEnded checks that a function registered for the end of a request runs once after a cancel, at once if the request was cancelled
// before, and never after forget.
func TestWhenEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(says("hi"), fakedroid.WithVersion(fakedroid.V0225)))
		ctx, cancel := context.WithCancel(t.Context())
		var done []string
		forget := map[string]func(){}
		e.inside(func(s *session.Session) {
			for _, what := range []string{"kept", "forgotten", "forgotten late"} {
				forget[what] = s.WhenEnded(ctx, func() { done = append(done, what) })
			}
			forget["forgotten"]()
			require.NoError(t, s.Uncancellable(ctx).Err())
			cancel()
			require.NoError(t, s.Uncancellable(ctx).Err(), "what cannot be undone goes on")
			require.ErrorIs(t, s.Agree(ctx, nil, "", ""), context.Canceled)
			forget["forgotten late"]()
			s.WhenEnded(ctx, func() { done = append(done, "at once") })
		})
		synctest.Wait()
		e.inside(func(*session.Session) { require.Equal(t, []string{"at once", "kept"}, done) })
	})
}
