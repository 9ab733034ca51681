package command

import (
	"context"

	"droid-acp/internal/adapter/session"
)

// shellCommand runs a command of the user.
func shellCommand(ctx context.Context, s *session.Session, command string) (string, error) {
	if command == "" {
		return "Give a command: `/shell git status`.", nil
	}
	s.RunShell(ctx, command)
	return "", nil
}
