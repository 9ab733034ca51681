package quirks

// What droid does: settings_updated comes several times with the same values and may contain only a part of them; a change without effect
// causes none on 0.99 and one since 0.215. Token usage is repeated, too.
// Seen on: 0.99, 0.215, 0.225.
// Quirk: 16, 23.
// Fixtures: spec_low_0.225.txtar.

import (
	"bytes"
	"encoding/json"

	"droid-acp/internal/droid/stream"
)

// Settings processes the settings in the result of initialize_session or load_session.
func (n *Normalizer) Settings(s stream.Settings) []Event {
	n.mergeSettings(s)
	return n.take()
}

// mergeSettings emits settings if they differ from those last reported.
func (n *Normalizer) mergeSettings(s stream.Settings) {
	n.settings = n.settings.Merge(s)
	now, err := json.Marshal(n.settings)
	if err == nil && bytes.Equal(now, n.reportedSettings) {
		return
	}
	n.reportedSettings = now
	n.emit(SettingsChanged{Settings: n.settings})
}

func (n *Normalizer) usageChanged(ev stream.TokenUsageChanged) {
	u := UsageChanged{Total: ev.TokenUsage, LastCall: ev.LastCallTokenUsage}
	if u == n.usage {
		return
	}
	n.usage = u
	n.emit(u)
}
