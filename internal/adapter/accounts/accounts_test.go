package accounts

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/login"
	"droid-acp/internal/quirks"
)

type droid chan struct{}

func (d droid) Exited() <-chan struct{} { return d }

// A droid is old from the next login on, even if that came while it was being started, and lacks a login after a turn that failed for this
// reason. The login with which droid works is reported when it changes.
func TestDroids(t *testing.T) {
	var told []string
	a := New(func(status protocol.AuthStatus) { told = append(told, status.Kind) })
	age := func(d droid) [2]bool { old, lacks := a.Age(d); return [2]bool{old, lacks} }
	begin := func(d droid) droid { a.Started(d, a.Logins()); return d }

	before, failed := begin(make(droid)), begin(make(droid))
	completed := quirks.TurnEnded{Outcome: quirks.Completed}
	a.TurnEnded(before, completed, true)
	require.Empty(t, told, "nobody said that there was no login")
	want := quirks.TurnEnded{Outcome: quirks.Failed, Failure: &quirks.Failure{Name: "AuthenticationError"}}
	a.TurnEnded(failed, want, true)
	a.TurnEnded(failed, want, true)
	a.TurnEnded(before, completed, false)
	require.Equal(t, []string{"none"}, told)
	require.Equal(t, [2]bool{true, true}, age(failed))
	a.TurnEnded(before, completed, true)
	require.Equal(t, []string{"none", "external"}, told)
	require.Equal(t, [2]bool{}, age(before))

	logins := a.Logins()
	a.loggedIn(login.APIKey)
	during := make(droid)
	a.Started(during, logins)
	require.Equal(t, [2]bool{true, false}, age(before))
	require.Equal(t, [2]bool{true, false}, age(during))
	require.Equal(t, [2]bool{}, age(begin(make(droid))))
	require.Equal(t, []string{"none", "external", "api_key"}, told)

	close(before)
	begin(make(droid))
	require.Equal(t, [2]bool{}, age(before), "it is gone")
}
