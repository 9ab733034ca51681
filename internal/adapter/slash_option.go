package adapter

import (
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/problem"
)

// optionCommand is the command that shows or sets a config option, for clients
// without pickers.
func optionCommand(id string) func(r *slashRun, value string) {
	return func(r *slashRun, value string) {
		if value == "" || r.s.options.Option(id) == nil {
			r.reply(r.s.options.Describe(id))
			return
		}
		r.s.setOption(id, value, func(err *acp.RequestError) {
			if err != nil {
				r.reply(strings.TrimSuffix(problem.Text(err), ".") + ".")
				return
			}
			r.reply("It is set to " + value + ".")
		})
	}
}
