package options

import (
	"cmp"
	"slices"
	"strconv"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/stream"
)

// Storage is where a session gets the value of a setting from when another process loads it, or a copy of it.
type Storage int

// Where settings are stored.
const (
	// StoredByDroid is a setting that droid stores with the session.
	StoredByDroid Storage = iota + 1
	// Restored is one that the process which ended had; ToRestore gives it to the next. Of a copy droid stores it.
	Restored
	// StoredInThread is one that droid does not know; store.Threads stores it.
	StoredInThread
)

// Setting is a setting of a session: a new one is a row of settings, and a field of stream.Settings and stream.SettingsPatch if it is
// droid's. The row determines the config option, the slash command, its place among prompts, what a restart restores, and _droid/state.
// TestSettings in internal/adapter/session fails for an incomplete row, or for a value that is not kept.
type Setting struct {
	ID     string
	Called string // in errors
	Stored Storage
	Scope  turns.Scope // of a change; see also scopeOf in adapter/session for the mode
	Switch bool        // its values are true and false
	// Command is the slash command that shows or sets it, "" for none, with its line in menus and the hint of its argument.
	Command, Summary, Hint string

	value  func(o *State) *string               // as droid reports it, nil for none
	option func(o *State) protocol.ConfigOption // without type and current value; without values, and no switch, it is not offered; nor without a value
	// patch sets a value that option offers, of which model is the model of this id; nil sets field.
	patch func(o *State, v stream.Version, model *stream.Model, value string) stream.SettingsPatch
	field func(p *stream.SettingsPatch) **string
}

// IDs of the settings, and so of their config options.
const (
	Mode           = "mode"
	Model          = "model"
	Effort         = "reasoning_effort"
	SpecModel      = "spec_model"
	SpecEffort     = "spec_reasoning_effort"
	FollowUp       = "follow_up"
	AutoCompaction = "auto_compaction" // a switch
)

// settings are all settings, in the order of menus. The models and efforts follow those on which their values depend.
var settings = []Setting{
	{
		ID: Mode, Called: "mode", Stored: Restored, Scope: turns.General, Command: "mode", Summary: "Show or choose the mode", Hint: "mode",
		value: func(o *State) *string { return new(string(o.Mode())) },
		option: func(o *State) protocol.ConfigOption {
			return protocol.ConfigOption{Name: "Mode", Category: "mode", Description: "How much droid may do without asking", Options: o.modeValues()}
		},
		patch: func(_ *State, v stream.Version, _ *stream.Model, value string) stream.SettingsPatch {
			return stream.ModeSettings(v, stream.Mode(value))
		},
	},
	{
		ID: Model, Called: "model", Stored: Restored, Scope: turns.ModelCalls, Command: "model", Summary: "Show or choose the model", Hint: "model id",
		value: func(o *State) *string { return o.settings.ModelID },
		option: func(o *State) protocol.ConfigOption {
			return protocol.ConfigOption{Name: "Model", Category: "model", Options: o.modelValues()}
		},
		patch: modelPatch, field: func(p *stream.SettingsPatch) **string { return &p.ModelID },
	},
	{
		ID: Effort, Called: "reasoning effort", Stored: Restored, Scope: turns.ModelCalls,
		Command: "effort", Summary: "Show or choose the reasoning effort", Hint: "effort",
		value: func(o *State) *string { return o.settings.ReasoningEffort },
		option: func(o *State) protocol.ConfigOption {
			return protocol.ConfigOption{Name: "Reasoning effort", Category: "thought_level",
				Description: "How much the model thinks before it answers", Options: named("Effort: ", o.effortValues(o.settings.ModelID))}
		},
		field: func(p *stream.SettingsPatch) **string { return &p.ReasoningEffort },
	},
	{
		ID: SpecModel, Called: "spec mode model", Stored: StoredByDroid, Scope: turns.ModelCalls,
		Command: "spec-model", Summary: "Show or choose the model that plans in spec mode", Hint: "model id, or \"same\"",
		value: func(o *State) *string { return cmp.Or(o.settings.SpecModeModelID, new(sameModel)) },
		option: func(o *State) protocol.ConfigOption {
			models, _ := o.specValues()
			return protocol.ConfigOption{Name: "Spec mode model", Description: "The model that makes the plan in spec mode", Options: models}
		},
		patch: specModelPatch,
	},
	{
		ID: SpecEffort, Called: "spec mode effort", Stored: StoredByDroid, Scope: turns.ModelCalls,
		value: func(o *State) *string { return o.settings.SpecModeReasoningEffort },
		option: func(o *State) protocol.ConfigOption {
			_, efforts := o.specValues()
			return protocol.ConfigOption{Name: "Spec mode effort", Options: efforts}
		},
		patch: func(o *State, _ stream.Version, _ *stream.Model, value string) stream.SettingsPatch {
			// Without the model 0.99 ignores the effort.
			return stream.SettingsPatch{SpecModeModelID: o.settings.SpecModeModelID, SpecModeReasoningEffort: &value}
		},
	},
	{
		ID: FollowUp, Called: "follow-up", Stored: StoredInThread, Scope: turns.General,
		Command: "follow-up", Summary: "Show or choose what becomes of a prompt that is sent while another one runs", Hint: "queue or steer",
		value: func(o *State) *string { return &o.followUp },
		option: func(*State) protocol.ConfigOption {
			return protocol.ConfigOption{Name: "Follow-up", Description: "What happens to a prompt that is sent while another one runs", Options: []protocol.OptionValue{
				{Value: Queue, Name: "Follow-ups: queue", Description: "It runs when the running one has ended"},
				{Value: Steer, Name: "Follow-ups: steer", Description: "droid takes it into the running turn after the tool that runs; while the model only writes text, it runs next"},
			}}
		},
	},
	{
		ID: AutoCompaction, Called: "automatic compaction", Stored: StoredByDroid, Scope: turns.General, Switch: true,
		value: func(o *State) *string { // nil before 0.215
			if on := o.settings.AutoCompaction; on != nil {
				return new(strconv.FormatBool(*on))
			}
			return nil
		},
		option: func(o *State) protocol.ConfigOption {
			option := protocol.ConfigOption{Name: "Auto-compaction", Description: "When the context window is nearly full, droid goes on with a summary of the conversation"}
			if o.switches {
				option.On = o.settings.AutoCompaction
			}
			return option
		},
	},
}

// Settings returns all settings of sessions.
func Settings() []Setting { return slices.Clone(settings) }

// Find returns the setting with an ID, the zero value for none.
func Find(id string) (none Setting) {
	for _, s := range settings {
		if s.ID == id {
			return s
		}
	}
	return none
}

// Values returns the values of all settings that the session has, by ID.
func (o *State) Values() map[string]string {
	values := make(map[string]string)
	for _, s := range settings {
		if value := s.value(o); value != nil && *value != "" {
			values[s.ID] = *value
		}
	}
	return values
}
