package adapter

import (
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/adapter/problem"
)

// optionCommand is the command that shows or sets a config option, for clients
// without pickers.
func optionCommand(r *slashRun, value string) {
	if value == "" || r.s.options.Option(r.option) == nil {
		r.reply(r.s.options.Describe(r.option))
		return
	}
	r.keep() // prompts that were sent behind a mode must not run in another one, whatever becomes of droid
	r.s.setOption(r.option, value, func(err *acp.RequestError, why error) {
		if err == nil {
			r.reply("It is set to " + value + ".")
			return
		}
		if why != nil {
			r.failBehind(why)
		}
		r.reply(strings.TrimSuffix(problem.Text(err), ".") + ".")
	})
}
