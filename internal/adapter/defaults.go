package adapter

import (
	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/options"
	"droid-acp/internal/turns"
)

// checkDefaults notes for the user which defaults droid did not take. A droid that
// does not know the field in which it was first asked for the mode (before 0.99) is
// asked once more, in the field that it knows.
func (s *Session) checkDefaults() {
	if s.proc.Client() == nil {
		return
	}
	notices, again := s.options.Untaken(s.agent.cfg.Defaults, !s.proc.Has(stream.TakesAutonomyMode))
	s.out.Keep(notices...)
	if again == "" {
		return
	}
	s.Post(func() {
		s.inTurn(turns.Session, func(over func(error)) {
			s.setOption(options.Mode, string(again), func(err *acp.RequestError) {
				defer over(nil)
				if err != nil {
					s.out.Keep(options.IgnoredDefault("mode", string(again), string(s.options.Mode())))
				}
			})
		})
	})
}
