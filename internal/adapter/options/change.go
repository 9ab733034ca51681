package options

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
)

// Patch is the change of droid's settings that sets an option in a droid of this
// version. A patch without fields says that droid has the value already. Values
// that are not offered are refused here: droid takes any model id and changes
// efforts silently (0.99 to 0.225).
func (o *State) Patch(version stream.Version, id, value string) (stream.SettingsPatch, error) {
	var none stream.SettingsPatch
	option := o.Option(id)
	if option == nil {
		return none, fmt.Errorf("unknown configId %q, or an option that the model in use does not have", id)
	}
	if onlyCurrent(option, value) {
		return none, nil
	}
	model := o.model(&value)
	if model != nil && model.Disabled && (id == Model || id == SpecModel) {
		return none, fmt.Errorf("the model %q is disabled in droid", value)
	}
	if !hasValue(option.Options, value) {
		return none, UnknownValue(id, value, option.Options)
	}
	switch id {
	case Mode:
		return stream.ModeSettings(version, stream.Mode(value)), nil
	case Model:
		return o.modelPatch(model, value), nil
	case Effort:
		return stream.SettingsPatch{ReasoningEffort: &value}, nil
	case SpecModel:
		return specModelPatch(model, value), nil
	default:
		// Without the model 0.99 ignores the effort.
		return stream.SettingsPatch{SpecModeModelID: o.settings.SpecModeModelID, SpecModeReasoningEffort: &value}, nil
	}
}

// onlyCurrent reports whether a value is in the list only because it is the current
// one: droid has it already, and might not take it once more.
func onlyCurrent(option *protocol.ConfigOption, value string) bool {
	return option.CurrentValue == value && slices.ContainsFunc(option.Options, func(v protocol.OptionValue) bool {
		return v.Value == value && v.Description == notOffered
	})
}

func (o *State) modelPatch(model *stream.Model, value string) stream.SettingsPatch {
	patch := stream.SettingsPatch{ModelID: &value}
	// 0.99 keeps an effort that the new model does not support.
	if model != nil && o.settings.ReasoningEffort != nil && model.DefaultReasoningEffort != "" &&
		!slices.Contains(model.SupportedReasoningEfforts, *o.settings.ReasoningEffort) {
		patch.ReasoningEffort = &model.DefaultReasoningEffort
	}
	return patch
}

func specModelPatch(model *stream.Model, value string) stream.SettingsPatch {
	if value == sameModel {
		return stream.SettingsPatch{NoSpecModeModel: true}
	}
	patch := stream.SettingsPatch{SpecModeModelID: &value}
	// Without an effort of its own droid takes "high", whatever the model supports.
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

// Ignored tells a user that droid took the request to set an option but reports another
// value, or none: it takes some values without obeying them (quirk 14). It returns ""
// when droid reports the value.
func (o *State) Ignored(id, value string) string {
	switch got := o.value(id); {
	case got == nil:
		return "droid accepted the request but does not report its " + Name(id)
	case *got != value:
		return "droid accepted the request but its " + Name(id) + " is " + strconv.Quote(*got)
	}
	return ""
}

// Name is what one of droid's options is called in errors.
func Name(id string) string { return optionNames[id] }

// optionNames are what droid's options are called in errors.
var optionNames = map[string]string{
	Mode:       "mode",
	Model:      "model",
	Effort:     "reasoning effort",
	SpecModel:  "spec mode model",
	SpecEffort: "spec mode effort",
}

// value is what droid reports of one of its options, nil for nothing.
func (o *State) value(id string) *string {
	switch id {
	case Mode:
		mode := string(o.Mode())
		return &mode
	case Model:
		return o.settings.ModelID
	case Effort:
		return o.settings.ReasoningEffort
	case SpecModel:
		return o.specModel()
	default:
		return o.settings.SpecModeReasoningEffort
	}
}
