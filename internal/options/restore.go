package options

import "droid-acp/internal/droid/stream"

// ToRestore returns the changes that give a loaded session the mode, model and effort that
// it had before, in a droid of version v. The mode is a change of its own, so that nothing
// else has droid refuse it.
func (o *State) ToRestore(v stream.Version, before stream.Settings) (patches []stream.SettingsPatch) {
	if before.Raw == nil {
		return nil // the session was never open here
	}
	if mode := o.modeBefore(before); mode != "" && mode != o.Mode() {
		patches = append(patches, stream.ModeSettings(v, mode))
	}
	var patch stream.SettingsPatch
	if differs(before.ModelID, o.settings.ModelID) {
		patch.ModelID = before.ModelID
	}
	if differs(before.ReasoningEffort, o.settings.ReasoningEffort) {
		patch.ReasoningEffort = before.ReasoningEffort
	}
	if !patch.IsZero() {
		patches = append(patches, patch)
	}
	return patches
}

func differs(wanted, got *string) bool { return wanted != nil && (got == nil || *wanted != *got) }
