package options

import (
	"cmp"
	"encoding/json"
	"reflect"
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

	o.Loading()
	require.False(t, o.LosesNothing(stream.ModeAutoLow), "that is what droid has loaded")
	reported(&o, stream.ModeAutoLow) // the session was open elsewhere, and droid has ended
	require.Equal(t, stream.ModeNormal, o.Owed())
	require.False(t, o.LosesNothing(stream.ModeAutoLow))

	before := o.Loading()
	reported(&o, stream.ModeNormal) // it had taken the mode, and did not say so any more
	require.Empty(t, o.Owed())
	require.Empty(t, o.ToRestore(stream.Version{}, before))

	o.LoadingAgain(before) // since it has died, and the next one may refuse
	reported(&o, stream.ModeAutoLow)
	require.Equal(t, stream.ModeNormal, o.Owed())
}

// TestRestoredSettings checks that the settings marked as restored are requested from the next droid.
func TestRestoredSettings(t *testing.T) {
	reported := func(value string, mode stream.Mode) (o State) {
		all := stream.Settings{Raw: json.RawMessage(`{}`)}
		for i, fields := 0, reflect.ValueOf(&all).Elem(); i < fields.NumField(); i++ {
			if text, is := fields.Field(i).Addr().Interface().(**string); is {
				*text = &value
			}
		}
		all.AutonomyMode = of(string(mode))
		o.Reported(all)
		return o
	}
	before, now := reported("before", stream.ModeSpec), reported("now", stream.ModeNormal)
	patches := now.ToRestore(stream.Version{}, before.Loading())
	restored := func(field func(*stream.SettingsPatch) **string) (value string) {
		for _, patch := range patches {
			value = cmp.Or(OrEmpty(*field(&patch)), value)
		}
		return value
	}
	require.Equal(t, "spec", restored(func(p *stream.SettingsPatch) **string { return &p.AutonomyLevel }))
	for _, s := range Settings() {
		if s.Stored == Restored && s.ID != Mode {
			require.NotNil(t, s.field, s.ID)
			require.Equal(t, "before", restored(s.field), s.ID)
		}
	}
}
