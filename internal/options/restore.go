package options

import "droid-acp/internal/droid/stream"

// ToRestore returns the change that gives a loaded session the wanted mode, model and
// effort. got are the settings that a droid of version v loaded the session with.
func ToRestore(v stream.Version, wanted, got stream.Settings) (patch stream.SettingsPatch) {
	if wanted.Raw == nil {
		return patch // the session was never open here
	}
	if mode := wanted.Mode(); mode != "" && mode != got.Mode() {
		patch = stream.ModeSettings(v, mode)
	}
	if differs(wanted.ModelID, got.ModelID) {
		patch.ModelID = wanted.ModelID
	}
	if differs(wanted.ReasoningEffort, got.ReasoningEffort) {
		patch.ReasoningEffort = wanted.ReasoningEffort
	}
	return patch
}

func differs(wanted, got *string) bool { return wanted != nil && (got == nil || *wanted != *got) }
