package options

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
)

// Patch returns the change of droid's settings that sets an option in a droid of this
// version. A patch without fields says that droid has the value already. Values
// that are not offered are refused here: droid takes any model id and changes
// efforts silently (0.99 to 0.225).
func (o *State) Patch(version stream.Version, id, value string) (stream.SettingsPatch, error) {
	var none stream.SettingsPatch
	option := o.Option(id)
	if option == nil {
		return none, fmt.Errorf("unknown configId %q, or an option that the model in use does not have", id)
	}
	model, chosen := o.model(&value), find(option.Options, value)
	switch {
	case chosen != nil && chosen.Description == notOffered: // it is the current one: droid might not take it once more
		return none, nil
	case model != nil && model.Disabled && (id == Model || id == SpecModel):
		return none, fmt.Errorf("the model %q is disabled in droid", value)
	case chosen == nil:
		return none, UnknownValue(id, value, option.Options)
	}
	s := Find(id)
	if s.patch != nil {
		return s.patch(o, version, model, value), nil
	}
	var patch stream.SettingsPatch
	*s.field(&patch) = &value
	return patch, nil
}

func modelPatch(o *State, _ stream.Version, model *stream.Model, value string) stream.SettingsPatch {
	patch := stream.SettingsPatch{ModelID: &value}
	// 0.99 keeps an effort that the new model does not support.
	if model != nil && o.settings.ReasoningEffort != nil && model.DefaultReasoningEffort != "" &&
		!slices.Contains(model.SupportedReasoningEfforts, *o.settings.ReasoningEffort) {
		patch.ReasoningEffort = &model.DefaultReasoningEffort
	}
	return patch
}

func specModelPatch(_ *State, _ stream.Version, model *stream.Model, value string) stream.SettingsPatch {
	if value == sameModel {
		return stream.SettingsPatch{NoSpecModeModel: true}
	}
	patch := stream.SettingsPatch{SpecModeModelID: &value}
	// If no effort is set, droid takes "high", whatever the model supports.
	if model != nil && model.DefaultReasoningEffort != "" {
		patch.SpecModeReasoningEffort = &model.DefaultReasoningEffort
	}
	return patch
}

// UnknownValue refuses a value that an option does not have.
func UnknownValue(id, value string, values []protocol.OptionValue) error {
	var names []string
	for _, v := range values {
		names = append(names, v.Value)
	}
	const most = 40
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return fmt.Errorf("%q is no value of %s; the values are %s", value, id, strings.Join(names, ", "))
}

// Ignored returns the text for the user if droid accepted the request to set an option but reports another value, or none: it accepts some
// values without obeying them (quirk 14). It returns "" if droid reports the value.
func (o *State) Ignored(id, value string) string {
	s := Find(id)
	switch got := s.value(o); {
	case got == nil:
		return "droid accepted the request but does not report its " + s.Called
	case *got != value:
		return "droid accepted the request but its " + s.Called + " is " + strconv.Quote(*got)
	}
	return ""
}
