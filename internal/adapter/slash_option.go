package adapter

import (
	"strings"

	"droid-acp/internal/adapter/problem"
)

// optionCommand is the command that shows or sets a config option, for clients
// without pickers.
func optionCommand(r *slashRun, value string) {
	s := r.s
	if value == "" {
		if !s.proc.Unmade() || r.droid() != nil { // one that was never started has told no options
			r.reply(s.options.Describe(r.option))
		}
		return
	}
	r.keep() // prompts that were sent behind a mode must not run in another one, whatever becomes of droid
	err := s.setOption(r.task, r.option, value)
	if err == nil {
		r.reply("It is set to " + value + ".")
		return
	}
	text := strings.TrimSuffix(problem.Text(err), ".") + "."
	if s.proc.Client() != nil && s.options.Option(r.option) == nil {
		text = s.options.Describe(r.option)
	}
	r.replyFailed(text, tooFree(s.options.Mode(), r.option, value, err))
}
