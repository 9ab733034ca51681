package options

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
)

func of[T any](v T) *T { return &v }

// v099 and v057 are droids that have autonomyMode and that do not.
var v099, v057 = stream.Version{Major: 1, Minor: 23}, stream.Version{}

// someModels are one of each kind that makes a difference.
func someModels() []stream.Model {
	return []stream.Model{
		{ID: "plain", DisplayName: "Plain", Provider: "someone", DefaultReasoningEffort: "none", SupportedReasoningEfforts: []string{"none"}, NoImageSupport: true},
		{ID: "thinker", SupportedReasoningEfforts: []string{"low", "xhigh", ""}, DefaultReasoningEffort: "low"},
		{ID: "silent", DisplayName: "Silent", NoImageSupport: true},
		{ID: "gone", DisplayName: "Gone", Disabled: true},
		{ID: "old", DisplayName: "Old", Deprecated: true},
		{ID: "own", DisplayName: "Own", Provider: "me", IsCustom: true},
		{DisplayName: "nameless"},
	}
}

// someOptions returns the options of a session with a separate model for spec mode.
func someOptions() State {
	o := New("", false, false)
	o.Offered(someModels())
	o.Reported(stream.Settings{
		ModelID: of("thinker"), ReasoningEffort: of("low"), AutonomyMode: of("normal"),
		SpecModeModelID: of("thinker"), SpecModeReasoningEffort: of("xhigh"),
	})
	return o
}

// TestPatch checks the requests to droid that set an option, and the rejected values.
func TestPatch(t *testing.T) {
	type patch = stream.SettingsPatch
	for name, c := range map[string]struct {
		given     func(*State)
		version   stream.Version
		id, value string
		want      patch
		err       string
	}{
		"mode":                  {version: v099, id: "mode", value: "auto-low", want: patch{AutonomyMode: of("auto-low")}},
		"mode of 0.57":          {version: v057, id: "mode", value: "auto-low", want: patch{AutonomyLevel: of("auto-low")}},
		"the same mode":         {version: v099, id: "mode", value: "normal", want: patch{AutonomyMode: of("normal")}},
		"no mode":               {version: v099, id: "mode", value: "yolo", err: `"yolo" is no value of mode; the values are normal, spec, auto-low, auto-medium, auto-high`},
		"a mode that is barred": {given: levels("off", "low"), version: v099, id: "mode", value: "auto-high", err: "no value of mode; the values are normal, spec, auto-low"},
		"mode, not told":        {given: func(o *State) { o.Reported(stream.Settings{}) }, id: "mode", value: "spec", err: "unknown configId"},

		"model, effort fits":                 {id: "model", value: "thinker", want: patch{ModelID: of("thinker")}},
		"model, effort does not fit":         {id: "model", value: "plain", want: patch{ModelID: of("plain"), ReasoningEffort: of("none")}},
		"model without a default":            {id: "model", value: "own", want: patch{ModelID: of("own")}},
		"model, effort not told":             {given: func(o *State) { o.Reported(stream.Settings{ModelID: of("own")}) }, id: "model", value: "plain", want: patch{ModelID: of("plain")}},
		"no model":                           {id: "model", value: "best", err: `"best" is no value of model; the values are own, plain, thinker, silent, old`},
		"disabled model":                     {id: "model", value: "gone", err: `the model "gone" is disabled in droid`},
		"current disabled model":             {given: func(o *State) { o.Reported(stream.Settings{ModelID: of("gone")}) }, id: "model", value: "gone"},
		"current model that is not offered":  {given: func(o *State) { o.Reported(stream.Settings{ModelID: of("else")}) }, id: "model", value: "else"},
		"effort":                             {id: "reasoning_effort", value: "xhigh", want: patch{ReasoningEffort: of("xhigh")}},
		"effort of another model":            {id: "reasoning_effort", value: "max", err: "no value of reasoning_effort; the values are low, xhigh,"},
		"effort without choice":              {given: func(o *State) { o.Reported(stream.Settings{ModelID: of("plain"), ReasoningEffort: of("none")}) }, id: "reasoning_effort", value: "none", err: "an option that the model in use does not have"},
		"effort of an unknown model":         {given: func(o *State) { o.Reported(stream.Settings{ModelID: of("else"), ReasoningEffort: of("low")}) }, id: "reasoning_effort", value: "low", err: "unknown configId"},
		"current effort that is not offered": {given: func(o *State) { o.Reported(stream.Settings{ModelID: of("thinker"), ReasoningEffort: of("max")}) }, id: "reasoning_effort", value: "max"},
		"spec model":                         {id: "spec_model", value: "plain", want: patch{SpecModeModelID: of("plain"), SpecModeReasoningEffort: of("none")}},
		"spec model without a default":       {id: "spec_model", value: "own", want: patch{SpecModeModelID: of("own")}},
		"the session's model":                {id: "spec_model", value: "same", want: patch{NoSpecModeModel: true}},
		"no spec model":                      {id: "spec_model", value: "best", err: "no value of spec_model; the values are same, own, plain"},
		"disabled spec model":                {id: "spec_model", value: "gone", err: "is disabled in droid"},
		"spec model before 0.99":             {given: func(o *State) { o.Reported(stream.Settings{ModelID: of("plain"), AutonomyLevel: of("normal")}) }, id: "spec_model", value: "same", err: "unknown configId"},
		"spec effort":                        {id: "spec_reasoning_effort", value: "low", want: patch{SpecModeModelID: of("thinker"), SpecModeReasoningEffort: of("low")}},
		"no spec effort":                     {id: "spec_reasoning_effort", value: "max", err: "no value of spec_reasoning_effort"},
		"spec effort of the session's model": {given: func(o *State) {
			o.Reported(stream.Settings{AutonomyMode: of("spec"), SpecModeReasoningEffort: of("low")})
		}, id: "spec_reasoning_effort", value: "low", err: "unknown configId"},
		"an option that nobody has heard of":   {id: "temperature", value: "1", err: `unknown configId "temperature"`},
		"an option with an empty value":        {id: "model", value: "", err: `"" is no value of model`},
		"the effort that has no name, offered": {id: "reasoning_effort", value: "", want: patch{ReasoningEffort: of("")}},
	} {
		t.Run(name, func(t *testing.T) {
			o := someOptions()
			if c.given != nil {
				c.given(&o)
			}
			got, err := o.Patch(c.version, c.id, c.value)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				require.True(t, got.IsZero())
				return
			}
			require.Nil(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// levels has an administrator allow these levels of autonomy alone.
func levels(list ...string) func(*State) {
	return func(o *State) {
		settings := o.settings
		settings.AutonomyLevels = list
		o.Reported(settings)
	}
}

// TestManyValuesAreCutShort: an error names 40 values at most.
func TestManyValuesAreCutShort(t *testing.T) {
	var values []protocol.OptionValue
	for range 40 {
		values = append(values, protocol.OptionValue{Value: "v"})
	}
	require.NotContains(t, UnknownValue("model", "x", values).Error(), "…")
	require.Contains(t, UnknownValue("model", "x", append(values, protocol.OptionValue{Value: "last"})).Error(), "v, …")
}

// TestSettled checks for each option that it counts as set only once droid reports its value (quirk 14).
func TestSettled(t *testing.T) {
	all := stream.Settings{
		ModelID: of("m"), ReasoningEffort: of("e"), AutonomyMode: of("spec"),
		SpecModeModelID: of("sm"), SpecModeReasoningEffort: of("se"),
	}
	for id, c := range map[string]struct{ value, what, silent string }{
		"mode":                  {"spec", "mode", `droid accepted the request but its mode is ""`},
		"model":                 {"m", "model", "droid accepted the request but does not report its model"},
		"reasoning_effort":      {"e", "reasoning effort", "droid accepted the request but does not report its reasoning effort"},
		"spec_model":            {"sm", "spec mode model", `droid accepted the request but its spec mode model is "same"`},
		"spec_reasoning_effort": {"se", "spec mode effort", "droid accepted the request but does not report its spec mode effort"},
	} {
		o := New("", false, false)
		o.Reported(all)
		require.Empty(t, o.Ignored(id, c.value), id)
		require.Equal(t, "droid accepted the request but its "+c.what+` is "`+c.value+`"`, o.Ignored(id, "other"))
		o.Reported(stream.Settings{})
		require.Contains(t, o.Ignored(id, c.value), c.silent)
	}
	o := New("", false, false)
	require.Empty(t, o.Ignored("spec_model", "same"), "droid has none")
}

// TestFollowUp: the one option that droid knows nothing of.
func TestFollowUp(t *testing.T) {
	o := New("", false, false)
	require.False(t, o.Steers())
	require.Equal(t, "queue", o.Option("follow_up").CurrentValue)
	require.True(t, o.SetFollowUp("steer"))
	require.True(t, o.Steers())
	require.False(t, o.SetFollowUp("drop"))
	require.Equal(t, "steer", o.Option("follow_up").CurrentValue)
	require.True(t, o.SetFollowUp("queue"))
	require.False(t, o.Steers())
	o = New("steer", false, false)
	require.True(t, o.Steers())
}

// TestListOfOptions checks that a value that droid does not report is not offered, and that the current value always is.
func TestListOfOptions(t *testing.T) {
	o := New("", false, false)
	require.Len(t, o.list(), 1, "droid has told nothing")
	o = someOptions()
	var ids []string
	for _, option := range o.list() {
		ids = append(ids, option.ID)
		require.Equal(t, "select", option.Type)
		require.NotNil(t, find(option.Options, option.CurrentValue), option.ID)
	}
	require.Subset(t, ids, []string{Mode, Model, Effort, SpecModel, SpecEffort, FollowUp})
	require.NotContains(t, ids, AutoCompaction, "a client without switches")
	require.Equal(t, []protocol.OptionValue{
		{Value: "own", Name: "Own", Description: "Custom model"},
		{Value: "plain", Name: "Plain", Description: "someone"},
		{Value: "thinker", Name: "thinker"},
		{Value: "silent", Name: "Silent"},
		{Value: "old", Name: "Old [Deprecated]"},
	}, o.Option("model").Options)
	require.Equal(t, []protocol.OptionValue{
		{Value: "low", Name: "Effort: low", Description: "The model's default"},
		{Value: "xhigh", Name: "Effort: extra high"},
		{Value: "", Name: "Effort: none"},
	}, o.Option("reasoning_effort").Options)

	require.Equal(t, []string{"mode", "model", ""}, []string{o.Option("mode").Category, o.Option("model").Category, o.Option("follow_up").Category})
	// Some clients show the name of a value alone.
	require.EqualValues(t, "Spec: same model", o.Option("spec_model").Options[0].Name)
	require.EqualValues(t, "Spec: Own", o.Option("spec_model").Options[1].Name)
	require.EqualValues(t, "Follow-ups: queue", o.Option("follow_up").Options[0].Name)
	o.Offered([]stream.Model{{ID: "thinker", DisplayName: "Old [Deprecated]", Deprecated: true}})
	require.EqualValues(t, "Old [Deprecated]", o.Option("model").Options[0].Name, "once")

	o.Offered(nil)
	require.NotNil(t, o.Option("model").Options, "no models say nothing")
	settings := o.settings
	settings.ModelID = of("else")
	o.Reported(settings)
	require.Equal(t, protocol.OptionValue{Value: "else", Name: "else", Description: notOffered}, o.Option("model").Options[0])
	require.Nil(t, o.Option("reasoning_effort"), "nobody knows what that model supports")
	require.Nil(t, o.Option("nothing"))

	o = New("", false, false)
	o.Reported(stream.Settings{ModelID: of("alone"), AutonomyMode: of("spec")})
	require.Nil(t, o.Option("spec_model"), "no models to choose from")
	require.Nil(t, o.Option("model"))
}

// TestBlindModel: the model that answers, which in spec mode may be another one.
func TestBlindModel(t *testing.T) {
	for name, c := range map[string]struct {
		settings stream.Settings
		want     string
	}{
		"nothing told":        {stream.Settings{}, ""},
		"sees":                {stream.Settings{ModelID: of("thinker")}, ""},
		"blind":               {stream.Settings{ModelID: of("plain")}, "Plain"},
		"unknown":             {stream.Settings{ModelID: of("else")}, ""},
		"blind in spec mode":  {stream.Settings{ModelID: of("thinker"), SpecModeModelID: of("silent"), AutonomyMode: of("spec")}, "Silent"},
		"no spec mode":        {stream.Settings{ModelID: of("thinker"), SpecModeModelID: of("silent"), AutonomyMode: of("normal")}, ""},
		"spec mode sees":      {stream.Settings{ModelID: of("plain"), SpecModeModelID: of("thinker"), AutonomyMode: of("spec")}, ""},
		"no model of its own": {stream.Settings{ModelID: of("plain"), SpecModeModelID: of(""), AutonomyMode: of("spec")}, "Plain"},
	} {
		o := New("", false, false)
		o.Offered(someModels())
		o.Reported(c.settings)
		require.Equal(t, c.want, o.BlindModel(), name)
	}
	o := New("", false, false)
	o.Offered([]stream.Model{{ID: "x", NoImageSupport: true}})
	o.Reported(stream.Settings{ModelID: of("x")})
	require.Equal(t, "x", o.BlindModel(), "a model without a name")
}

// TestUpdates: the mode, where droid tells one that has a name, and the options.
func TestUpdates(t *testing.T) {
	o := New("", false, false)
	require.Nil(t, o.Modes(), "droid has told nothing")
	require.Nil(t, o.SessionModels())
	require.Equal(t, []protocol.Update{o.ListUpdate()}, o.Updates())
	require.Len(t, o.ListUpdate().ConfigOptions, 1)

	o = someOptions()
	require.Equal(t, "normal", o.Modes().CurrentModeID)
	require.Len(t, o.Modes().AvailableModes, 5)
	require.Len(t, o.ListUpdate().ConfigOptions, len(o.list()))

	settings := o.settings
	settings.AutonomyMode = of("spec")
	o.Reported(settings)
	updates := o.Updates()
	require.Len(t, updates, 2)
	require.Equal(t, protocol.CurrentModeUpdate{SessionUpdate: "current_mode_update", CurrentModeID: "spec"}, updates[0])
	require.Equal(t, "spec", updates[1].(protocol.ConfigOptionUpdate).ConfigOptions[0].CurrentValue)

	settings.AutonomyMode = of("no mode of ours")
	o.Reported(settings)
	require.Equal(t, []protocol.Update{o.ListUpdate()}, o.Updates(), "no mode is told that has no name")
}

// If there is little room, options that slash commands set as well are listed only once they were changed. They can still be set: clients
// set again the values that they have stored.
func TestNarrowOptions(t *testing.T) {
	ids := func(o State) (ids []string) {
		for _, option := range o.ListUpdate().ConfigOptions {
			ids = append(ids, option.ID)
		}
		return ids
	}
	for _, narrow := range []bool{true, false} {
		o := New("", false, narrow)
		o.Offered(someModels())
		o.Reported(stream.Settings{ModelID: of("thinker"), ReasoningEffort: of("low"), AutonomyMode: of("normal")})
		require.Subset(t, ids(o), []string{Mode, Model, Effort})
		for _, id := range []string{SpecModel, FollowUp} {
			require.Equal(t, !narrow, slices.Contains(ids(o), id), id)
		}
		require.NotNil(t, o.Option(FollowUp))
		_, err := o.Patch(v099, SpecModel, "own")
		require.NoError(t, err)
		require.True(t, o.SetFollowUp(Steer))
		require.Contains(t, ids(o), FollowUp)
	}
	o := New("", false, true)
	require.Equal(t, []protocol.ConfigOption{}, o.ListUpdate().ConfigOptions, "a list in JSON")
	o = someOptions()
	o.narrow = true
	require.Subset(t, ids(o), []string{SpecModel, SpecEffort})
	require.NotContains(t, ids(o), FollowUp)
}

// Without a login only the user's custom models answer, so all others say what they need, in both lists of models.
func TestModelsThatNeedALogin(t *testing.T) {
	o := New("", false, false)
	o.Reported(stream.Settings{ModelID: of("mine"), AutonomyMode: of("normal"), Raw: json.RawMessage(`{}`)})
	o.Offered([]stream.Model{{ID: "theirs", DisplayName: "Theirs"}, {ID: "mine", DisplayName: "Mine", IsCustom: true}})
	names := func(id string) (names []string) {
		for _, v := range o.Option(id).Options {
			names = append(names, string(v.Name))
		}
		return names
	}
	for _, out := range []bool{true, false} {
		o.SetLoggedOut(out)
		theirs := "Theirs"
		if out {
			theirs = "Theirs [needs login]"
		}
		require.Equal(t, []string{"Mine", theirs}, names(Model))
		require.Equal(t, []string{"Spec: same model", "Spec: Mine", "Spec: " + theirs}, names(SpecModel))
	}
}
