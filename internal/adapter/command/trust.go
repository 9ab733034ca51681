package command

import (
	"context"
	"strings"

	"droid-acp/internal/adapter/session"
)

// trustCommand shows what the project brings to run, lets it run, or takes that back.
func trustCommand(ctx context.Context, s *session.Session, args string) (string, error) {
	text, err := s.AnswerTrust(ctx, strings.ToLower(strings.TrimSpace(args)))
	if err != nil {
		return "", session.Failed("It was not kept", err)
	}
	return text, nil
}
