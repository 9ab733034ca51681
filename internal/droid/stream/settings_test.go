package stream

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"1.15.0": {1, 15, 0}, "1.220.3": {1, 220, 3}, "2": {2, 0, 0}, "1.2": {1, 2, 0}, "1.2.3-beta.1": {1, 2, 3}, "1.2.3+b": {1, 2, 3},
	} {
		v, err := ParseVersion(text)
		require.NoError(t, err, text)
		require.Equal(t, want, v)
	}
	for _, text := range []string{"", "abc", "1.", "1.2.3.4", "-1.2", "1.x", "99999999999.0.0"} {
		_, err := ParseVersion(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "1.15.0", Version{1, 15, 0}.String())
	require.Equal(t, "unknown", Version{}.String())
}

func TestAtLeast(t *testing.T) {
	order := []Version{{}, {0, 0, 1}, {0, 9, 0}, {1, 0, 0}, {1, 15, 0}, {1, 15, 1}, {1, 206, 0}, {2, 0, 0}}
	for i, a := range order {
		for j, b := range order {
			require.Equal(t, i >= j, a.atLeast(b), "%v %v", a, b)
		}
	}
}

func TestMode(t *testing.T) {
	for text, want := range map[string]Mode{
		`{}`: "",
		`{"autonomyMode":"auto-low","interactionMode":"auto","autonomyLevel":"low"}`: ModeAutoLow,
		`{"autonomyMode":"spec","interactionMode":"spec","autonomyLevel":"low"}`:     ModeSpec,
		`{"autonomyMode":"normal","interactionMode":"agi","autonomyLevel":"off"}`:    ModeNormal,
		`{"autonomyMode":"future","autonomyLevel":"off"}`:                            "",
		`{"interactionMode":"spec","autonomyLevel":"high"}`:                          ModeSpec,
		`{"interactionMode":"auto","autonomyLevel":"high"}`:                          ModeAutoHigh,
		`{"autonomyLevel":"off"}`:                                                    ModeNormal,
		`{"autonomyLevel":"medium"}`:                                                 ModeAutoMedium,
		`{"autonomyLevel":"spec"}`:                                                   ModeSpec,
		`{"autonomyLevel":"auto-low"}`:                                               ModeAutoLow,
		`{"autonomyLevel":"normal"}`:                                                 ModeNormal,
		`{"autonomyLevel":"bogus"}`:                                                  "",
		`{"autonomyMode":null,"autonomyLevel":7}`:                                    "",
	} {
		var s Settings
		require.NoError(t, json.Unmarshal([]byte(text), &s))
		require.Equal(t, want, s.Mode(), text)
	}
}

func TestModeSettings(t *testing.T) {
	modes := Modes()
	require.Len(t, modes, 5)
	for _, m := range modes {
		require.True(t, m.Mode.Valid())
		require.NotEmpty(t, m.Name)
		require.NotEmpty(t, m.Description)
		for _, v := range []Version{{1, 15, 0}, {1, 220, 0}} {
			data, err := json.Marshal(ModeSettings(v, m.Mode))
			require.NoError(t, err)
			require.JSONEq(t, `{"autonomyMode":"`+string(m.Mode)+`"}`, string(data), "and no other field")
		}
		require.Equal(t, ModeSettings(Version{1, 15, 0}, m.Mode), InitialModeSettings(m.Mode))
		data, err := json.Marshal(ModeSettings(Version{}, m.Mode))
		require.NoError(t, err)
		require.JSONEq(t, `{"autonomyLevel":"`+string(m.Mode)+`"}`, string(data))
	}
	require.False(t, Mode("agi").Valid())
}

func TestSettingsMerge(t *testing.T) {
	var a, b Settings
	require.NoError(t, json.Unmarshal([]byte(`{"modelId":"m","autonomyMode":"normal","extra":[1]}`), &a))
	require.NoError(t, json.Unmarshal([]byte(`{"autonomyMode":"spec","specModeModelId":"s","more":2}`), &b))
	got := a.Merge(b)
	require.Equal(t, "m", *got.ModelID)
	require.Equal(t, ModeSpec, got.Mode())
	require.Equal(t, "s", *got.SpecModeModelID)
	require.JSONEq(t, `{"modelId":"m","autonomyMode":"spec","specModeModelId":"s","extra":[1],"more":2}`, string(got.Raw))
	require.Equal(t, ModeNormal, a.Mode(), "a is unchanged")
	require.Equal(t, a, a.Merge(Settings{}))
	require.Equal(t, a, Settings{}.Merge(a))
	require.Error(t, json.Unmarshal([]byte(`[]`), &a))
}

// The levels allowed by an administrator stay until droid reports another list.
func TestAvailableModes(t *testing.T) {
	var s Settings
	for _, tc := range []struct {
		report string
		want   []Mode
	}{
		{`{"autonomyMode":"auto-high"}`, []Mode{ModeNormal, ModeSpec, ModeAutoLow, ModeAutoMedium, ModeAutoHigh}},
		{`{"availableAutonomyLevels":["off","low"]}`, []Mode{ModeNormal, ModeSpec, ModeAutoLow, ModeAutoHigh}},
		{`{"autonomyMode":"normal"}`, []Mode{ModeNormal, ModeSpec, ModeAutoLow}},
		{`{"availableAutonomyLevels":null}`, []Mode{ModeNormal, ModeSpec, ModeAutoLow, ModeAutoMedium, ModeAutoHigh}},
		{`{"availableAutonomyLevels":["low"]}`, []Mode{ModeNormal, ModeSpec, ModeAutoLow}},
		{`{"availableAutonomyLevels":"all"}`, []Mode{ModeNormal, ModeSpec, ModeAutoLow, ModeAutoMedium, ModeAutoHigh}},
	} {
		var o Settings
		require.NoError(t, json.Unmarshal([]byte(tc.report), &o))
		s = s.Merge(o)
		var modes []Mode
		for _, m := range s.AvailableModes() {
			modes = append(modes, m.Mode)
		}
		require.Equal(t, tc.want, modes, tc.report)
	}
}

func TestSettingsPatch(t *testing.T) {
	require.True(t, SettingsPatch{}.IsZero())
	p := ModeSettings(Version{}, ModeSpec)
	p.ModelID, p.ReasoningEffort = ptr("m"), ptr("")
	require.False(t, p.IsZero())
	data, err := json.Marshal(p)
	require.NoError(t, err)
	require.JSONEq(t, `{"modelId":"m","autonomyLevel":"spec","reasoningEffort":""}`, string(data))
}
