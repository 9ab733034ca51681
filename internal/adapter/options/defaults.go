package options

import (
	"fmt"

	"droid-acp/internal/droid/stream"
)

// Defaults are the values that sessions start with; "" leaves a value to droid.
type Defaults struct {
	Mode     stream.Mode
	Model    string
	Effort   string
	FollowUp string // "queue" or "steer"
}

// Settings returns the defaults for droid's initialize_session.
func (d Defaults) Settings() stream.SettingsPatch {
	var patch stream.SettingsPatch
	if d.Mode != "" {
		patch = stream.InitialModeSettings(d.Mode)
	}
	if d.Model != "" {
		patch.ModelID = &d.Model
	}
	if d.Effort != "" {
		patch.ReasoningEffort = &d.Effort
	}
	return patch
}

// Wanted says which models a project names, and whether the session uses them: a process gets the user's own where they have
// one. wants has them by droid's keys.
func (o *State) Wanted(wants map[string]string) (notices []string) {
	for _, of := range []struct {
		key, name, command string
		now                *string
	}{{"model", "the model", "/model", o.settings.ModelID}, {"specModeModel", "the spec mode model", "/spec-model", o.settings.SpecModeModelID}} {
		want := wants[of.key]
		switch {
		case want == "":
		case !differs(&want, of.now):
			notices = append(notices, fmt.Sprintf("This project chose %s %s; `%s` lists others.", of.name, want, of.command))
		case o.model(&want) == nil:
			notices = append(notices, fmt.Sprintf("This project asks for %s %.80q, which droid does not offer here.", of.name, want))
		default:
			notices = append(notices, fmt.Sprintf("This project asks for %s %s; `%s %s` uses it.", of.name, want, of.command, want))
		}
	}
	return notices
}

// OrEmpty returns the text that s points to, and "" for nil.
func OrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// IgnoredDefault notifies the user of a default that droid ignored.
func IgnoredDefault(what, value, got string) string {
	return fmt.Sprintf("The default %s %q was not taken by droid; it is %q.", what, value, got)
}

// Untaken returns the texts for the user about defaults that droid did not take: it ignores values silently (quirk 14). modeAgain says that
// droid may not have understood the request for the mode. Then a mode that it did not take is returned as again, to be requested once more,
// without a text.
func (o *State) Untaken(want Defaults, modeAgain bool) (notices []string, again stream.Mode) {
	if mode := o.Mode(); want.Mode != "" && mode != want.Mode {
		if modeAgain {
			again = want.Mode
		} else {
			notices = append(notices, IgnoredDefault("mode", want.Mode.Title(), mode.Title()))
		}
	}
	if want.Model != "" {
		switch got := o.settings.ModelID; {
		case differs(&want.Model, got):
			notices = append(notices, IgnoredDefault("model", want.Model, OrEmpty(got)))
		case o.model(got) == nil:
			notices = append(notices, fmt.Sprintf("droid does not offer the default model %q; calls to it may fail. /model lists the models that it offers.", want.Model))
		}
	}
	if want.Effort != "" && differs(&want.Effort, o.settings.ReasoningEffort) {
		notices = append(notices, IgnoredDefault("reasoning effort", want.Effort, OrEmpty(o.settings.ReasoningEffort)))
	}
	return notices, again
}
