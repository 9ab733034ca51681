package command

import (
	"context"

	"droid-acp/internal/adapter/session"
)

// statusCommand shows what a bug report needs.
func statusCommand(ctx context.Context, s *session.Session, _ string) (string, error) {
	return s.Status(ctx).Text(), nil
}
