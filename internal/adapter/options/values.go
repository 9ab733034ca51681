package options

import (
	"strings"

	"droid-acp/internal/acp/protocol"
)

// Each of the following is one option with its values, nil when droid does not
// report it. One without values is not offered either.

func (o *State) modeOption() *protocol.ConfigOption {
	mode := o.Mode()
	if mode == "" {
		return nil
	}
	option := &protocol.ConfigOption{ID: Mode, Name: "Mode", Category: "mode", Description: "How much droid may do without asking", CurrentValue: string(mode)}
	for _, m := range o.settings.AvailableModes() {
		option.Options = append(option.Options, protocol.OptionValue{Value: string(m.Mode), Name: protocol.Line(m.Name), Description: protocol.Line(m.Description)})
	}
	return option
}

func (o *State) modelOption() *protocol.ConfigOption {
	if o.settings.ModelID == nil {
		return nil
	}
	return &protocol.ConfigOption{ID: Model, Name: "Model", Category: "model", CurrentValue: *o.settings.ModelID, Options: o.modelValues()}
}

func (o *State) effortOption() *protocol.ConfigOption {
	effort := o.settings.ReasoningEffort
	if effort == nil {
		return nil
	}
	return &protocol.ConfigOption{ID: Effort, Name: "Reasoning effort", Category: "thought_level",
		Description: "How much the model thinks before it answers", CurrentValue: *effort, Options: named("Effort: ", o.effortValues(o.settings.ModelID))}
}

// specModelOption is the model of spec mode, which droid has since 0.99.
func (o *State) specModelOption() *protocol.ConfigOption {
	if o.settings.AutonomyMode == nil || len(o.models) == 0 {
		return nil
	}
	values := append([]protocol.OptionValue{{Value: sameModel, Name: "Spec: same model", Description: "The session's model"}}, named("Spec: ", o.modelValues())...)
	return &protocol.ConfigOption{ID: SpecModel, Name: "Spec mode model", Description: "The model that makes the plan in spec mode",
		CurrentValue: *o.specModel(), Options: values}
}

// specModel is the value of SpecModel.
func (o *State) specModel() *string {
	if model := o.settings.SpecModeModelID; model != nil {
		return model
	}
	same := sameModel
	return &same
}

// specEffortOption is the effort of spec mode, where that has a model of its own.
func (o *State) specEffortOption() *protocol.ConfigOption {
	model, effort := o.settings.SpecModeModelID, o.settings.SpecModeReasoningEffort
	if o.settings.AutonomyMode == nil || model == nil || effort == nil {
		return nil
	}
	return &protocol.ConfigOption{ID: SpecEffort, Name: "Spec mode effort", CurrentValue: *effort, Options: named("Spec effort: ", o.effortValues(model))}
}

func (o *State) followUpOption() *protocol.ConfigOption {
	return &protocol.ConfigOption{ID: FollowUp, Name: "Follow-up", Description: "What happens to a prompt that is sent while another one runs",
		CurrentValue: o.followUp, Options: []protocol.OptionValue{
			{Value: Queue, Name: "Follow-ups: queue", Description: "It runs when the running one has ended"},
			{Value: Steer, Name: "Follow-ups: steer", Description: "droid takes it into the running turn after the tool that runs; while the model only writes text, it runs next"},
		}}
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
