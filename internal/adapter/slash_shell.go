package adapter

import "context"

// shellCommand runs a command of the user.
func shellCommand(ctx context.Context, s *Session, command string) (string, error) {
	if command == "" {
		return "Give a command: `/shell git status`.", nil
	}
	s.RunShell(ctx, command)
	return "", nil
}
