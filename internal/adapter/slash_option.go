package adapter

import (
	"fmt"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/problem"
)

// optionCommand is the command that shows or sets a config option, for clients
// without pickers.
func optionCommand(id string) func(r *slashRun, value string) {
	return func(r *slashRun, value string) {
		if value == "" || r.s.options.Option(id) == nil {
			r.reply(r.s.describeOption(id))
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

func (s *Session) describeOption(id string) string {
	o := s.options.Option(id)
	if o == nil {
		return "The model in use gives no choice here."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s. The values are:\n", o.Name, o.CurrentValue)
	for _, v := range o.Options {
		fmt.Fprintf(&b, "- `%s`: %s\n", v.Value, v.Name)
	}
	return b.String()
}
