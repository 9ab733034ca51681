package fakedroid

import "strings"

// settings are what a session runs with. Level is off, low, medium or high.
type settings struct {
	model, effort, level, interaction string
}

func defaultSettings() settings {
	return settings{model: "custom:Fake-0", effort: "none", level: "off", interaction: "auto"}
}

// mode is the autonomyMode that follows from the other fields.
func (s settings) mode() string {
	switch {
	case s.interaction == "spec":
		return "spec"
	case s.level == "off":
		return "normal"
	}
	return "auto-" + s.level
}

// setMode takes an autonomyMode; it tells whether droid knows it.
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

// update takes the settings of an init or update request. What it returns
// says why droid refuses them, "" when it does not.
func (s *settings) update(v Version, params map[string]any) string {
	model, _ := params["modelId"].(string)
	if model != "" {
		s.model = model
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
	if hasMode && !hasLevel && !hasInteraction { // else it is ignored
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

// updateUnversioned takes the one field of versions without protocol version:
// autonomyLevel with the words that later became autonomyMode's (seeds, 0.57).
func (s *settings) updateUnversioned(params map[string]any) string {
	level, ok := params["autonomyLevel"].(string)
	if ok && !s.setMode(level) {
		return "autonomyLevel"
	}
	return ""
}

// rank orders the autonomy levels; -1 is no level.
func rank(level string) int {
	for i, l := range []string{"off", "low", "medium", "high"} {
		if l == level {
			return i
		}
	}
	return -1
}

// fields are the settings as this version tells them.
func (s settings) fields(v Version) Fields {
	if v == Unversioned {
		return Fields{"modelId": s.model, "reasoningEffort": s.effort, "autonomyLevel": s.mode(), "specModeReasoningEffort": "none"}
	}
	f := Fields{
		"modelId": s.model, "reasoningEffort": s.effort,
		"autonomyMode": s.mode(), "interactionMode": s.interaction, "autonomyLevel": s.level,
	}
	if v.modern() {
		f["availableAutonomyLevels"] = []string{"off", "low", "medium", "high"}
		f["compactionThresholdCheckEnabled"] = true
	}
	return f
}
