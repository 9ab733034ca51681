package options

import (
	"cmp"
	"strings"

	"droid-acp/internal/acp/protocol"
)

// row is an option with values.
type row struct {
	called string  // in errors
	value  *string // that droid reports, nil for none
	protocol.ConfigOption
}

// rows are all options with values. Those of which droid reports no value, and those without values, are not offered.
func (o *State) rows() []row {
	s := o.settings
	specModel, specEffort := o.specValues()
	return []row{
		{"mode", new(string(o.Mode())), protocol.ConfigOption{ID: Mode, Name: "Mode", Category: "mode",
			Description: "How much droid may do without asking", Options: o.modeValues()}},
		{"model", s.ModelID, protocol.ConfigOption{ID: Model, Name: "Model", Category: "model", Options: o.modelValues()}},
		{"reasoning effort", s.ReasoningEffort, protocol.ConfigOption{ID: Effort, Name: "Reasoning effort", Category: "thought_level",
			Description: "How much the model thinks before it answers", Options: named("Effort: ", o.effortValues(s.ModelID))}},
		{"spec mode model", cmp.Or(s.SpecModeModelID, new(sameModel)), protocol.ConfigOption{ID: SpecModel, Name: "Spec mode model",
			Description: "The model that makes the plan in spec mode", Options: specModel}},
		{"spec mode effort", s.SpecModeReasoningEffort, protocol.ConfigOption{ID: SpecEffort, Name: "Spec mode effort", Options: specEffort}},
		{"follow-up", &o.followUp, protocol.ConfigOption{ID: FollowUp, Name: "Follow-up",
			Description: "What happens to a prompt that is sent while another one runs", Options: []protocol.OptionValue{
				{Value: Queue, Name: "Follow-ups: queue", Description: "It runs when the running one has ended"},
				{Value: Steer, Name: "Follow-ups: steer", Description: "droid takes it into the running turn after the tool that runs; while the model only writes text, it runs next"},
			}}},
	}
}

// modeValues are the modes that can be chosen, none while droid does not tell the mode.
func (o *State) modeValues() (values []protocol.OptionValue) {
	if o.Mode() == "" {
		return nil
	}
	for _, m := range o.settings.AvailableModes() {
		values = append(values, protocol.OptionValue{Value: string(m.Mode), Name: protocol.Line(m.Name), Description: protocol.Line(m.Description)})
	}
	return values
}

// specValues are the models of spec mode, which droid has since 0.99, and the efforts where that has a model of its own.
func (o *State) specValues() (models, efforts []protocol.OptionValue) {
	if o.settings.AutonomyMode == nil || len(o.models) == 0 {
		return nil, nil
	}
	models = append([]protocol.OptionValue{{Value: sameModel, Name: "Spec: same model", Description: "The session's model"}}, named("Spec: ", o.modelValues())...)
	return models, named("Spec effort: ", o.effortValues(o.settings.SpecModeModelID))
}

// autoCompactionOption is a switch. Where droid does not tell whether it is on (before
// 0.215), and for an editor that does not know switches, there is none.
func (o *State) autoCompactionOption() *protocol.ConfigOption {
	on := o.settings.AutoCompaction
	if on == nil || !o.switches {
		return nil
	}
	return &protocol.ConfigOption{ID: AutoCompaction, Name: "Auto-compaction",
		Description: "When the context window is nearly full, droid goes on with a summary of the conversation", On: on}
}

// named puts the words what before the names of values, since some clients show a
// value's name alone.
func named(what protocol.Line, values []protocol.OptionValue) []protocol.OptionValue {
	for i := range values {
		values[i].Name = what + values[i].Name
	}
	return values
}

// modelValues are the models that droid offers and that can be chosen, the user's
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

// effortValues are the efforts of a model; none where it has no choice.
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
