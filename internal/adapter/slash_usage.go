package adapter

import "context"

// usageCommand shows the tokens that the session used.
func usageCommand(_ context.Context, s *Session, _ string) (string, error) {
	return s.UsageTable(), nil
}
