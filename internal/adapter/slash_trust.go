package adapter

import (
	"context"
	"strings"
)

// trustCommand shows what the project brings to run, lets it run, or takes that back.
func trustCommand(ctx context.Context, s *Session, args string) (string, error) {
	text, err := s.AnswerTrust(ctx, strings.ToLower(strings.TrimSpace(args)))
	if err != nil {
		return "", Failed("It was not kept", err)
	}
	return text, nil
}
