package options

import "droid-acp/internal/droid/stream"

// ToRestore returns the changes that give a loaded session the mode, model and effort that
// it had before, in a droid of version v. The mode is a change of its own, so that nothing
// else has droid refuse it.
func (o *State) ToRestore(v stream.Version, before Before) (patches []stream.SettingsPatch) {
	if before.settings.Raw == nil {
		return nil // the session was never open here
	}
	if before.mode != "" && before.mode != o.Mode() {
		patches = append(patches, stream.ModeSettings(v, before.mode))
	}
	var patch stream.SettingsPatch
	if differs(before.settings.ModelID, o.settings.ModelID) {
		patch.ModelID = before.settings.ModelID
	}
	if differs(before.settings.ReasoningEffort, o.settings.ReasoningEffort) {
		patch.ReasoningEffort = before.settings.ReasoningEffort
	}
	if !patch.IsZero() {
		patches = append(patches, patch)
	}
	return patches
}

func differs(wanted, got *string) bool { return wanted != nil && (got == nil || *wanted != *got) }
