package adapter

import "context"

// statusCommand shows what a bug report needs.
func statusCommand(ctx context.Context, s *Session, _ string) (string, error) {
	return s.Status(ctx).Text(), nil
}
