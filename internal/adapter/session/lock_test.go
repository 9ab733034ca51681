package session_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/acperr"
)

// TestEnterAfterTheEnd: a request of a session that has ended has its place in the order, and its answer.
func TestEnterAfterTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := begin(t, playing(says("hi")))
		s, err := e.find(e.session)
		require.Nil(t, err)
		s.Stop()
		synctest.Wait()
		ordered := 0
		require.Equal(t, acperr.Ending(), s.Enter(func() { ordered++ }))
		require.Equal(t, 1, ordered)
		s.Refuse(acperr.InvalidRequest("no"))
		require.Equal(t, acperr.InvalidRequest("no"), s.Enter(nil))
		require.False(t, s.Lock().Post(func() {}))
	})
}
