package options

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// A droid that ends before it has taken a mode back does not make the freer mode, in which it had loaded the
// session, the one that the next droid is given.
func TestModeThatWasNotTakenBack(t *testing.T) {
	reported := func(o *State, mode stream.Mode) {
		o.Reported(stream.Settings{AutonomyMode: of(string(mode)), Raw: json.RawMessage(`{}`)})
	}
	o := New("", false, false)
	reported(&o, stream.ModeNormal)

	before := o.Before()
	reported(&o, stream.ModeAutoLow) // the session was open elsewhere
	o.Restarted(before)              // and droid has ended
	require.Equal(t, stream.ModeNormal, o.Owed())

	before = o.Before()
	reported(&o, stream.ModeNormal) // it had taken the mode, and did not say so any more
	require.Empty(t, o.Owed())
	require.Empty(t, o.ToRestore(stream.Version{}, before))
}
