package options

import "droid-acp/internal/droid/stream"

// ToRestore is what a droid of version v must change, having loaded a
// session with the settings got, so that it has the wanted ones: mode, model and
// effort.
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
