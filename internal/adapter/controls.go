package adapter

import (
	"errors"
	"fmt"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
)

// errSessionEnded says that nobody in the session takes an answer any more.
var errSessionEnded = errors.New("the session has ended")

// controls are what the user can steer in a session beside droid's own settings.
// Only the session's owner touches them.
type controls struct {
	models       []stream.Model // that droid offers
	toldOptions  []byte         // what the editor believes, encoded
	followUp     string         // value of optionFollowUp, "" for the default
	toldUsage    droid.ContextStats
	custom       []protocol.AvailableCommand // droid's commands and skills
	listed       bool                        // custom is known
	toldCommands []byte                      // what the editor believes, encoded
	fileCommands map[string]commandFile      // that droid does not expand itself
	usage        quirks.UsageChanged         // as last told
	title        string
	shellNotes   []string // what droid is told of the user's shell commands with the next prompt
	steered      []*turn  // prompts that droid has beside the running one, oldest first
}

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

// checkDefaults notes for the user what droid made of the defaults: it ignores
// values silently (quirk 14). One that told no version gets the mode once more,
// in its own words.
func (s *Session) checkDefaults() {
	want := s.agent.cfg.Defaults
	if s.client == nil {
		return
	}
	ignored := func(what, value, got string) {
		s.notices = append(s.notices, fmt.Sprintf("The default %s %q was not taken by droid; it is %q.", what, value, got))
	}
	switch mode := s.settings.Mode(); {
	case want.Mode == "" || mode == want.Mode:
	case s.client.Version().IsZero():
		s.post(func() {
			s.setOption(optionMode, string(want.Mode), func(err *acp.RequestError) {
				if err != nil {
					ignored("mode", string(want.Mode), string(s.settings.Mode()))
				}
			})
		})
	default:
		ignored("mode", string(want.Mode), string(mode))
	}
	if want.Model != "" {
		switch got := s.settings.ModelID; {
		case differs(&want.Model, got):
			ignored("model", want.Model, text(got))
		case s.model(got) == nil:
			s.notices = append(s.notices, fmt.Sprintf("The default model %q is none that droid offers; calls to it may fail. /model lists those it has.", want.Model))
		}
	}
	if want.Effort != "" && differs(&want.Effort, s.settings.ReasoningEffort) {
		ignored("reasoning effort", want.Effort, text(s.settings.ReasoningEffort))
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
