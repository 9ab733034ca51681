package options

import (
	"strings"

	"droid-acp/internal/acp/protocol"
)

// modeValues returns the modes to choose from, none while droid does not report its mode.
func (o *State) modeValues() (values []protocol.OptionValue) {
	if o.Mode() == "" {
		return nil
	}
	for _, m := range o.settings.AvailableModes() {
		values = append(values, protocol.OptionValue{Value: string(m.Mode), Name: protocol.Line(m.Name), Description: protocol.Line(m.Description)})
	}
	return values
}

// specValues returns the models of spec mode, which droid has since 0.99, and the efforts if spec mode has its own model.
func (o *State) specValues() (models, efforts []protocol.OptionValue) {
	if o.settings.AutonomyMode == nil || len(o.models) == 0 {
		return nil, nil
	}
	models = append([]protocol.OptionValue{{Value: sameModel, Name: "Spec: same model", Description: "The session's model"}}, named("Spec: ", o.modelValues())...)
	return models, named("Spec effort: ", o.effortValues(o.settings.SpecModeModelID))
}

// named puts the words what before the names of values, since some clients show a
// value's name alone.
func named(what protocol.Line, values []protocol.OptionValue) []protocol.OptionValue {
	for i := range values {
		values[i].Name = what + values[i].Name
	}
	return values
}

// modelValues returns the models that droid offers and that can be chosen, the user's
// own first.
func (o *State) modelValues() []protocol.OptionValue {
	var own, others []protocol.OptionValue
	for _, m := range o.models {
		if m.ID == "" || m.Disabled {
			continue
		}
		v := protocol.OptionValue{Value: m.ID, Name: protocol.Line(m.DisplayName), Description: protocol.Line(m.Provider)}
		if v.Name == "" {
			v.Name = protocol.Line(m.ID)
		}
		if m.Deprecated && !strings.Contains(strings.ToLower(string(v.Name)), "deprecated") { // droid's own names say it
			v.Name += " [Deprecated]"
		}
		if m.IsCustom {
			v.Description = "Custom model"
			own = append(own, v)
			continue
		}
		if o.loggedOut {
			v.Name += " [needs login]"
		}
		others = append(others, v)
	}
	return append(own, others...)
}

// effortValues returns the efforts of a model; none where it has no choice.
func (o *State) effortValues(model *string) []protocol.OptionValue {
	m := o.model(model)
	if m == nil || len(m.SupportedReasoningEfforts) < 2 {
		return nil
	}
	var out []protocol.OptionValue
	for _, effort := range m.SupportedReasoningEfforts {
		v := protocol.OptionValue{Value: effort, Name: protocol.Line(effortName(effort))}
		if effort == m.DefaultReasoningEffort {
			v.Description = "The model's default"
		}
		out = append(out, v)
	}
	return out
}

func effortName(effort string) string {
	switch effort {
	case "xhigh":
		return "extra high"
	case "":
		return "none"
	}
	return effort
}
