package options

import "droid-acp/internal/droid/stream"

// ToRestore returns the changes that give a loaded session its former settings that are Restored, in a droid of version v. The mode is a
// separate change, so that droid does not refuse it because of another.
func (o *State) ToRestore(v stream.Version, before Before) (patches []stream.SettingsPatch) {
	if before.settings.Raw == nil {
		return nil // the session was never open here
	}
	if before.mode != "" && before.mode != o.Mode() {
		patches = append(patches, stream.ModeSettings(v, before.mode))
	}
	var patch stream.SettingsPatch
	was := State{settings: before.settings}
	for _, s := range settings {
		if s.Stored == Restored && s.ID != Mode && differs(s.value(&was), s.value(o)) {
			*s.field(&patch) = s.value(&was)
		}
	}
	if !patch.IsZero() {
		patches = append(patches, patch)
	}
	return patches
}

func differs(wanted, got *string) bool { return wanted != nil && (got == nil || *wanted != *got) }
