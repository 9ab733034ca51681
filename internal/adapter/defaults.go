package adapter

import (
	"fmt"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid/stream"
)

// Defaults are what sessions start with; "" leaves it to droid.
type Defaults struct {
	Mode     stream.Mode
	Model    string
	Effort   string
	FollowUp string // "queue" or "steer"
}

// settings are the defaults for droid's initialize_session.
func (d Defaults) settings() stream.SettingsPatch {
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

// ignoredDefault tells the user of a default that droid ignored.
func ignoredDefault(what, value, got string) string {
	return fmt.Sprintf("The default %s %q was not taken by droid; it is %q.", what, value, got)
}

// untaken tells the user which defaults droid did not take: it ignores values
// silently (quirk 14). A mode that droid did not take is returned apart where
// modeAgain says that droid did not understand the first request.
func (o *options) untaken(want Defaults, modeAgain bool) (notices []string, again stream.Mode) {
	if mode := o.mode(); want.Mode != "" && mode != want.Mode {
		if modeAgain {
			again = want.Mode
		} else {
			notices = append(notices, ignoredDefault("mode", string(want.Mode), string(mode)))
		}
	}
	if want.Model != "" {
		switch got := o.settings.ModelID; {
		case differs(&want.Model, got):
			notices = append(notices, ignoredDefault("model", want.Model, text(got)))
		case o.model(got) == nil:
			notices = append(notices, fmt.Sprintf("The default model %q is none that droid offers; calls to it may fail. /model lists those it has.", want.Model))
		}
	}
	if want.Effort != "" && differs(&want.Effort, o.settings.ReasoningEffort) {
		notices = append(notices, ignoredDefault("reasoning effort", want.Effort, text(o.settings.ReasoningEffort)))
	}
	return notices, again
}

// checkDefaults notes for the user what droid made of the defaults. A droid that
// tells no version is asked for the mode once more, in its own words.
func (s *Session) checkDefaults() {
	if s.proc.client() == nil {
		return
	}
	notices, again := s.options.untaken(s.agent.cfg.Defaults, !s.proc.has(stream.TakesAutonomyMode))
	s.note(notices...)
	if again == "" {
		return
	}
	s.post(func() {
		s.setOption(optionMode, string(again), func(err *acp.RequestError) {
			if err != nil {
				s.note(ignoredDefault("mode", string(again), string(s.options.mode())))
			}
		})
	})
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
