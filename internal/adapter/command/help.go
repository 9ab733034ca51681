package command

import (
	"context"
	"fmt"
	"strings"

	"droid-acp/internal/adapter/internal/commands"
	"droid-acp/internal/adapter/session"
)

// helpCommand lists the commands that the editor knows.
func helpCommand(ctx context.Context, s *session.Session, _ string) (string, error) {
	s.RefreshCommands(ctx)
	var b strings.Builder
	ours, users := s.ListCommands()
	for i, c := range append(ours, users...) {
		if i > 0 && i == len(ours) {
			b.WriteString("\nYour own commands, and skills:\n\n")
		}
		hint := ""
		if c.Input != nil && c.Input.Hint != commands.AnyArguments {
			hint = string(" " + c.Input.Hint)
		}
		fmt.Fprintf(&b, "- `/%s%s`: %s\n", c.Name, hint, c.Description)
	}
	return b.String(), nil
}
