package adapter

import (
	"fmt"
	"strings"
)

// helpCommand lists the commands that the editor knows.
func helpCommand(r *slashRun, _ string) {
	r.s.refreshCommands(r.work, r.task, func() bool { return !r.over() })
	var b strings.Builder
	for _, c := range r.s.allCommands() {
		hint := ""
		if c.Input != nil {
			hint = string(" " + c.Input.Hint)
		}
		fmt.Fprintf(&b, "- `/%s%s`: %s\n", c.Name, hint, c.Description)
	}
	r.reply(b.String())
}
