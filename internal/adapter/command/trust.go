package command

import (
	"context"
	"strings"

	"droid-acp/internal/adapter/session"
)

// trustCommand shows what the project brings to run, lets it run, or takes that back.
func trustCommand(ctx context.Context, s *session.Session, args string) (string, error) {
	return s.AnswerTrust(ctx, strings.ToLower(strings.TrimSpace(args)))
}
