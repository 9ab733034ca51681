package adapter

import (
	"fmt"
	"slices"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/acperr"
)

// optionCommand is the command that shows or sets a config option, for clients
// without pickers.
func optionCommand(r *commandRun, value string) {
	s := r.s
	if value == "" {
		if !s.proc.Unmade() || r.droid() != nil { // one that was never started has told no options
			r.reply(s.options.Describe(r.option, r.name))
		}
		return
	}
	r.keep() // prompts that were sent behind a mode must not run in another one, whatever becomes of droid
	err := s.setOption(s.Context, r.option, value)
	if err == nil {
		r.reply(s.options.Titled(r.option, value) + ".")
		return
	}
	text := strings.TrimSuffix(acperr.Text(err), ".") + "."
	switch option := s.options.Option(r.option); {
	case s.proc.Client() == nil:
	case option == nil:
		text = s.options.Describe(r.option, r.name)
	case !slices.ContainsFunc(option.Options, func(v protocol.OptionValue) bool { return v.Value == value }):
		text = fmt.Sprintf("There is no %s “%.80s”. `/%s` lists them.", strings.ToLower(string(option.Name)), value, r.name)
	}
	r.replyFailed(text, tooFree(s.options.Mode(), r.option, value, err))
}
