package stream

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Settings are a session's settings as reported by droid. A nil field was not reported (settings_updated may be partial). Raw is the whole
// object.
type Settings struct {
	ModelID                 *string         `json:"modelId"`
	ReasoningEffort         *string         `json:"reasoningEffort"`
	AutonomyMode            *string         `json:"autonomyMode"`    // since 0.99
	InteractionMode         *string         `json:"interactionMode"` // since 0.99
	AutonomyLevel           *string         `json:"autonomyLevel"`
	SpecModeModelID         *string         `json:"specModeModelId"`
	SpecModeReasoningEffort *string         `json:"specModeReasoningEffort"`
	AutoCompaction          *bool           `json:"compactionThresholdCheckEnabled,omitempty"` // since 0.215
	AutonomyLevels          []string        `json:"availableAutonomyLevels,omitempty"`         // those that an administrator allows (since 0.215); all if empty
	Raw                     json.RawMessage `json:"-"`
}

// UnmarshalJSON decodes the settings and keeps their raw JSON. A field that is not a string counts as not reported.
func (s *Settings) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	*s = Settings{Raw: append(json.RawMessage(nil), data...)}
	for name, p := range map[string]**string{
		"modelId":                 &s.ModelID,
		"reasoningEffort":         &s.ReasoningEffort,
		"autonomyMode":            &s.AutonomyMode,
		"interactionMode":         &s.InteractionMode,
		"autonomyLevel":           &s.AutonomyLevel,
		"specModeModelId":         &s.SpecModeModelID,
		"specModeReasoningEffort": &s.SpecModeReasoningEffort,
	} {
		if raw := fields[name]; len(raw) > 0 && raw[0] == '"' {
			v := new(string)
			if err := json.Unmarshal(raw, v); err == nil {
				*p = v
			}
		}
	}
	var compaction *bool
	if json.Unmarshal(fields["compactionThresholdCheckEnabled"], &compaction) == nil {
		s.AutoCompaction = compaction
	}
	if levels, told := fields["availableAutonomyLevels"]; told {
		_ = json.Unmarshal(levels, &s.AutonomyLevels) // anything but a list means all
		s.AutonomyLevels = append([]string{}, s.AutonomyLevels...)
	}
	return nil
}

// Merge returns s updated with everything that o reports; Raw is merged key by key. A report with a model is complete: if it has no model
// for spec mode, the session has none (0.99 to 0.225).
func (s Settings) Merge(o Settings) Settings {
	if o.ModelID != nil && o.SpecModeModelID == nil {
		s.SpecModeModelID, s.SpecModeReasoningEffort = nil, nil
		s.Raw = withoutKeys(s.Raw, "specModeModelId", "specModeReasoningEffort")
	}
	overlay(&s.ModelID, o.ModelID)
	overlay(&s.ReasoningEffort, o.ReasoningEffort)
	overlay(&s.AutonomyMode, o.AutonomyMode)
	overlay(&s.InteractionMode, o.InteractionMode)
	overlay(&s.AutonomyLevel, o.AutonomyLevel)
	overlay(&s.SpecModeModelID, o.SpecModeModelID)
	overlay(&s.SpecModeReasoningEffort, o.SpecModeReasoningEffort)
	if o.AutoCompaction != nil {
		s.AutoCompaction = o.AutoCompaction
	}
	if o.AutonomyLevels != nil {
		s.AutonomyLevels = o.AutonomyLevels
	}
	s.Raw = mergeRaw(s.Raw, o.Raw)
	return s
}

func overlay(to **string, from *string) {
	if from != nil {
		*to = from
	}
}

func withoutKeys(raw json.RawMessage, keys ...string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return raw
	}
	before := len(fields)
	for _, key := range keys {
		delete(fields, key)
	}
	if len(fields) == before {
		return raw
	}
	less, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return less
}

func mergeRaw(a, b json.RawMessage) json.RawMessage {
	var x, y map[string]json.RawMessage
	if json.Unmarshal(a, &x) != nil || x == nil {
		return b
	}
	if json.Unmarshal(b, &y) != nil {
		return a
	}
	maps.Copy(x, y)
	merged, err := json.Marshal(x)
	if err != nil {
		return b
	}
	return merged
}

// Mode determines how much a session may do without asking.
type Mode string

// Modes of a session, by droid's names (autonomyMode of 0.99 to 0.225).
const (
	ModeNormal     Mode = "normal"
	ModeSpec       Mode = "spec"
	ModeAutoLow    Mode = "auto-low"
	ModeAutoMedium Mode = "auto-medium"
	ModeAutoHigh   Mode = "auto-high"
)

// ModeInfo describes a Mode to a user.
type ModeInfo struct {
	Mode        Mode
	Name        string
	Description string
}

// Modes lists all modes, spec mode first, then from the strictest to the most permissive. The descriptions follow droid's own labels.
func Modes() []ModeInfo {
	return []ModeInfo{
		{ModeNormal, "Auto (Off)", "Ask before file edits and commands"},
		{ModeSpec, "Spec", "Research and plan first; change nothing until the plan is approved"},
		{ModeAutoLow, "Auto (Low)", "Allow file edits and read-only commands"},
		{ModeAutoMedium, "Auto (Medium)", "Allow reversible commands"},
		{ModeAutoHigh, "Auto (High)", "Allow all commands"},
	}
}

// Title returns the name of a mode in menus.
func (m Mode) Title() string {
	for _, info := range Modes() {
		if info.Mode == m {
			return info.Name
		}
	}
	return string(m)
}

// AvailableModes returns the modes that a user can choose: those of AutonomyLevels, spec mode, and the current one.
func (s Settings) AvailableModes() []ModeInfo {
	if len(s.AutonomyLevels) == 0 {
		return Modes()
	}
	return slices.DeleteFunc(Modes(), func(m ModeInfo) bool {
		return m.Mode != ModeSpec && m.Mode != s.Mode() && !slices.Contains(s.AutonomyLevels, levelOfMode(m.Mode))
	})
}

// levelOfMode returns the autonomyLevel of a mode since 0.99.
func levelOfMode(m Mode) string {
	if m == ModeNormal {
		return "off"
	}
	return strings.TrimPrefix(string(m), "auto-")
}

// Valid reports whether m is one of Modes.
func (m Mode) Valid() bool {
	return slices.ContainsFunc(Modes(), func(info ModeInfo) bool { return info.Mode == m })
}

// AsksAsMuchAs reports whether a session in mode m does nothing without asking that it would ask for in mode other. An unknown m is the
// most permissive; an unknown other counts as ModeNormal.
func (m Mode) AsksAsMuchAs(other Mode) bool {
	strictest := []Mode{ModeAutoHigh, ModeAutoMedium, ModeAutoLow, ModeNormal, ModeSpec}
	if !other.Valid() {
		other = ModeNormal
	}
	return slices.Index(strictest, m) >= slices.Index(strictest, other)
}

// modeOfLevel maps autonomyLevel to a mode: "off" to "high" since 0.99, the mode's own name before (0.57).
func modeOfLevel(level string) Mode {
	switch level {
	case "off":
		return ModeNormal
	case "low", "medium", "high":
		return Mode("auto-" + level)
	}
	if m := Mode(level); m.Valid() {
		return m
	}
	return ""
}

// Mode returns the session's mode, from whichever fields droid reported, "" if they do not contain it or it is not in Modes.
func (s Settings) Mode() Mode {
	if s.AutonomyMode != nil {
		if m := Mode(*s.AutonomyMode); m.Valid() {
			return m
		}
		return ""
	}
	if s.InteractionMode != nil && *s.InteractionMode == "spec" {
		return ModeSpec
	}
	if s.AutonomyLevel != nil {
		return modeOfLevel(*s.AutonomyLevel)
	}
	return ""
}

// SettingsPatch is a change of settings; nil fields are unchanged. droid validates AutonomyMode and ReasoningEffort, silently ignores other
// invalid values, and ignores AutonomyMode if InteractionMode or AutonomyLevel is also set (0.99 to 0.225).
type SettingsPatch struct {
	ModelID                 *string `json:"modelId,omitempty"`
	ReasoningEffort         *string `json:"reasoningEffort,omitempty"`
	AutonomyMode            *string `json:"autonomyMode,omitempty"`
	InteractionMode         *string `json:"interactionMode,omitempty"`
	AutonomyLevel           *string `json:"autonomyLevel,omitempty"`
	SpecModeModelID         *string `json:"specModeModelId,omitempty"`
	SpecModeReasoningEffort *string `json:"specModeReasoningEffort,omitempty"`         // before 0.215 ignored without SpecModeModelID
	AutoCompaction          *bool   `json:"compactionThresholdCheckEnabled,omitempty"` // since 0.215
	NoSpecModeModel         bool    `json:"-"`                                         // spec mode uses the session's model; for UpdateSettings only
}

// IsZero reports whether the patch changes nothing.
func (p SettingsPatch) IsZero() bool { return p == SettingsPatch{} }

// ModeSettings returns the change that sets mode m. It sets one field only, because droid ignores autonomyMode in combination with the
// others.
//
// For the zero Version it is the field of 0.57. Before droid's first line the version is unknown; use InitialModeSettings then.
func ModeSettings(v Version, m Mode) SettingsPatch {
	if v.Supports(TakesAutonomyMode) {
		return SettingsPatch{AutonomyMode: new(string(m))}
	}
	return SettingsPatch{AutonomyLevel: new(string(m))}
}

// InitialModeSettings returns the change for Initialize, when the version is still unknown: the field of 0.99 and later. Compare
// Settings.Mode of the result with m, and update with ModeSettings if it differs.
func InitialModeSettings(m Mode) SettingsPatch {
	return ModeSettings(TakesAutonomyMode.since.protocol, m)
}

// Efforts returns the reasoning efforts that droid knows (0.99 to 0.225); a model supports some of them. droid refuses to open a session with
// any other.
func Efforts() []string {
	return []string{"none", "dynamic", "off", "minimal", "low", "medium", "high", "xhigh", "max"}
}
