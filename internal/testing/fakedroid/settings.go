package fakedroid

import (
	"slices"
	"strings"
)

// settings are a session's settings. Level is off, low, medium or high; specModel is "" for the session's model.
type settings struct {
	model, effort, level, interaction string
	specModel, specEffort             string
	manual                            bool // without automatic compaction
}

func defaultSettings() settings {
	return settings{model: "custom:Fake-0", effort: "none", level: "off", interaction: "auto"}
}

// mode returns the autonomyMode that corresponds to the other fields.
func (s settings) mode() string {
	switch {
	case s.interaction == "spec":
		return "spec"
	case s.level == "off":
		return "normal"
	}
	return "auto-" + s.level
}

// setMode sets an autonomyMode; it reports whether droid knows it.
func (s *settings) setMode(mode string) bool {
	switch mode {
	case "spec":
		s.interaction = "spec"
	case "normal":
		s.interaction, s.level = "auto", "off"
	case "auto-low", "auto-medium", "auto-high":
		s.interaction, s.level = "auto", strings.TrimPrefix(mode, "auto-")
	default:
		return false
	}
	return true
}

// update applies the settings of an init or update request. It returns why droid refuses them, "" if it does not.
func (s *settings) update(v Version, params map[string]any) string {
	s.updateModel(v, params)
	s.updateSpecModel(v, params)
	if compacts, ok := params["compactionThresholdCheckEnabled"].(bool); ok {
		s.manual = !compacts
	}
	if v == Unversioned {
		return s.updateUnversioned(params)
	}
	mode, hasMode := params["autonomyMode"].(string)
	level, hasLevel := params["autonomyLevel"].(string)
	interaction, hasInteraction := params["interactionMode"].(string)
	probe := *s
	if hasMode && !probe.setMode(mode) {
		return "params.autonomyMode: Invalid enum value"
	}
	if hasMode && !hasLevel && !hasInteraction { // otherwise it is ignored
		s.setMode(mode)
	}
	if rank(level) >= 0 { // other values are ignored with success (quirk 14)
		s.level = level
	}
	if interaction == "auto" || interaction == "spec" {
		s.interaction = interaction
	}
	return ""
}

// models returns the fake's models, in droid's format.
func models() []Fields {
	model := func(id, name string, custom bool, efforts ...string) Fields {
		return Fields{"id": id, "displayName": name, "shortDisplayName": name, "modelProvider": "generic-chat-completion-api",
			"isCustom": custom, "supportedReasoningEfforts": efforts, "defaultReasoningEffort": efforts[0]}
	}
	old := model("fake-old", "Old [Deprecated]", false, "off", "low")
	old["deprecated"] = true
	disabled := model("fake-disabled", "Forbidden", false, "off")
	disabled["disabled"] = true
	return []Fields{model("fake-thinker", "Thinker", false, "off", "low", "high"), model(defaultSettings().model, "Fake", true, "none"), old, disabled}
}

// updateModel accepts any model ID, as droid does, and changes an effort that the model does not support; 0.99 keeps the effort if only the
// model changes.
func (s *settings) updateModel(v Version, params map[string]any) {
	model, _ := params["modelId"].(string)
	effort, _ := params["reasoningEffort"].(string)
	if model != "" {
		s.model = model
	}
	if effort != "" {
		s.effort = effort
	}
	if effort == "" && (model == "" || !v.modern()) {
		return
	}
	for _, m := range models() {
		if efforts := m["supportedReasoningEfforts"].([]string); m["id"] == s.model && !slices.Contains(efforts, s.effort) {
			s.effort = efforts[0]
		}
	}
}

// updateSpecModel sets the model of spec mode, null for none, and its effort, which older droids accept only together with the model.
func (s *settings) updateSpecModel(v Version, params map[string]any) {
	effort, _ := params["specModeReasoningEffort"].(string)
	switch model := params["specModeModelId"].(type) {
	case string:
		if effort == "" {
			effort = "high"
		}
		s.specModel, s.specEffort = model, effort
	case nil:
		if _, ok := params["specModeModelId"]; ok {
			s.specModel, s.specEffort = "", ""
		} else if effort != "" && v.modern() && s.specModel != "" {
			s.specEffort = effort
		}
	}
}

// updateUnversioned handles the one field of versions without a protocol version: autonomyLevel with the later values of autonomyMode
// (seeds, 0.57).
func (s *settings) updateUnversioned(params map[string]any) string {
	level, ok := params["autonomyLevel"].(string)
	if ok && !s.setMode(level) {
		return "autonomyLevel"
	}
	return ""
}

// rank orders the autonomy levels; -1 is invalid.
func rank(level string) int {
	for i, l := range []string{"off", "low", "medium", "high"} {
		if l == level {
			return i
		}
	}
	return -1
}

// fields returns the settings as this version reports them.
func (s settings) fields(v Version) Fields {
	if v == Unversioned {
		return Fields{"modelId": s.model, "reasoningEffort": s.effort, "autonomyLevel": s.mode(), "specModeReasoningEffort": "none"}
	}
	f := Fields{
		"modelId": s.model, "reasoningEffort": s.effort,
		"autonomyMode": s.mode(), "interactionMode": s.interaction, "autonomyLevel": s.level,
	}
	if s.specModel != "" {
		f["specModeModelId"], f["specModeReasoningEffort"] = s.specModel, s.specEffort
	}
	if v.modern() {
		f["availableAutonomyLevels"] = []string{"off", "low", "medium", "high"}
		f["compactionThresholdCheckEnabled"] = !s.manual
	}
	return f
}
