package adapter

import (
	"fmt"
	"strings"

	"droid-acp/internal/adapter/internal/commands"
)

// helpCommand lists the commands that the editor knows.
func helpCommand(r *commandRun, _ string) {
	r.s.refreshCommands(r.work, func() bool { return !r.over() })
	var b strings.Builder
	all := r.s.allCommands()
	for i, c := range all {
		if i > 0 && i == len(all)-len(r.s.commands.Offered()) {
			b.WriteString("\nYour own commands, and skills:\n\n")
		}
		hint := ""
		if c.Input != nil && c.Input.Hint != commands.AnyArguments {
			hint = string(" " + c.Input.Hint)
		}
		fmt.Fprintf(&b, "- `/%s%s`: %s\n", c.Name, hint, c.Description)
	}
	r.reply(b.String())
}
