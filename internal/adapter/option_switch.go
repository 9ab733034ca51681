package adapter

import (
	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/options"
	"droid-acp/internal/problem"
)

// setSwitch sets the option that is a switch, for an editor that is offered it.
func (s *Session) setSwitch(on bool, done func(*acp.RequestError)) {
	if s.options.Option(options.AutoCompaction) == nil {
		done(problem.InvalidParams("unknown configId %q, or an option that this droid or this client does not have", options.AutoCompaction))
		return
	}
	s.setAutoCompaction(on, done)
}

// setAutoCompaction switches automatic compaction and calls done when droid has done
// so, or with why not. droid keeps it with the session (0.215 and 0.225).
func (s *Session) setAutoCompaction(on bool, done func(*acp.RequestError)) {
	patch := func(stream.Version) stream.SettingsPatch { return stream.SettingsPatch{AutoCompaction: &on} }
	s.updateSettings(patch, done, func(err error) {
		got := s.options.Settings().AutoCompaction
		switch {
		case err != nil:
			done(problem.NotSet("auto_compaction", "automatic compaction", settingsTime, err))
		case got == nil || *got != on:
			done(problem.Internal("auto_compaction_ignored", "droid accepted the request but did not change automatic compaction."+s.proc.Lacks(stream.SwitchesAutoCompaction)))
		default:
			done(nil)
		}
	})
}
