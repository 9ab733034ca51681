package command

import (
	"context"

	"droid-acp/internal/adapter/session"
)

// usageCommand shows the tokens that the session used.
func usageCommand(_ context.Context, s *session.Session, _ string) (string, error) {
	return s.UsageTable(), nil
}
