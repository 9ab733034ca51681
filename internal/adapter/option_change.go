package adapter

import (
	"slices"
	"strconv"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
)

// patch is the change of droid's settings that sets an option in a droid of this
// version. A patch without fields says that droid has the value already. Values
// that are not offered are refused here: droid takes any model id and changes
// efforts silently (0.99 to 0.225).
func (o *options) patch(version stream.Version, id, value string) (stream.SettingsPatch, *acp.RequestError) {
	var none stream.SettingsPatch
	option := o.option(id)
	if option == nil {
		return none, invalidParams("unknown configId %q, or an option that the model in use does not have", id)
	}
	if onlyCurrent(option, value) {
		return none, nil
	}
	model := o.model(&value)
	if model != nil && model.Disabled && (id == optionModel || id == optionSpecModel) {
		return none, invalidParams("the model %q is disabled in droid", value)
	}
	if !hasValue(option.Options, value) {
		return none, unknownValue(id, value, option.Options)
	}
	switch id {
	case optionMode:
		return stream.ModeSettings(version, stream.Mode(value)), nil
	case optionModel:
		return o.modelPatch(model, value), nil
	case optionEffort:
		return stream.SettingsPatch{ReasoningEffort: &value}, nil
	case optionSpecModel:
		return specModelPatch(model, value), nil
	default:
		// Without the model 0.99 and 0.117 ignore the effort.
		return stream.SettingsPatch{SpecModeModelID: o.settings.SpecModeModelID, SpecModeReasoningEffort: &value}, nil
	}
}

// onlyCurrent reports whether a value is there because it is the current one, and
// not for choosing: droid has it already, and might not take it once more.
func onlyCurrent(option *protocol.ConfigOption, value string) bool {
	return option.CurrentValue == value && slices.ContainsFunc(option.Options, func(v protocol.OptionValue) bool {
		return v.Value == value && v.Description == notOffered
	})
}

func (o *options) modelPatch(model *stream.Model, value string) stream.SettingsPatch {
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

func unknownValue(id, value string, values []protocol.OptionValue) *acp.RequestError {
	var names []string
	for _, v := range values {
		names = append(names, v.Value)
	}
	const most = 40
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return invalidParams("%q is no value of %s; the values are %s", value, id, strings.Join(names, ", "))
}

// settled says whether droid did what it was asked: err is its answer to the
// request, and the settings are what it reported since. droid takes some values
// without obeying them (quirk 14).
func (o *options) settled(id, value string, err error) *acp.RequestError {
	what := optionNames[id]
	kind := strings.ReplaceAll(what, " ", "_")
	if err != nil {
		return settingError(kind, what, err)
	}
	switch got := o.value(id); {
	case got == nil:
		return internalError(kind+"_ignored", "droid took the request and does not tell its "+what)
	case *got != value:
		return internalError(kind+"_ignored", "droid took the request but its "+what+" is "+strconv.Quote(*got))
	}
	return nil
}

// optionNames are what droid's options are called in errors.
var optionNames = map[string]string{
	optionMode:       "mode",
	optionModel:      "model",
	optionEffort:     "reasoning effort",
	optionSpecModel:  "spec mode model",
	optionSpecEffort: "spec mode effort",
}

// value is what droid reports of one of its options, nil for nothing.
func (o *options) value(id string) *string {
	switch id {
	case optionMode:
		mode := string(o.mode())
		return &mode
	case optionModel:
		return o.settings.ModelID
	case optionEffort:
		return o.settings.ReasoningEffort
	case optionSpecModel:
		return o.specModel()
	default:
		return o.settings.SpecModeReasoningEffort
	}
}
