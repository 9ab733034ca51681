package command

import (
	"context"
	"fmt"
	"strings"

	"droid-acp/internal/adapter/session"
)

// contextCommand shows what fills the context window.
func contextCommand(ctx context.Context, s *session.Session, _ string) (string, error) {
	use, lacks, err := s.ContextUse(ctx)
	if err != nil {
		return "", session.Failed("droid did not tell what fills the context window", err)
	}
	if lacks != "" {
		return lacks, nil
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%d of %d tokens are used, %d are free (%s).\n\n| | tokens |\n|---|---|\n", use.Used, use.Budget, use.Free, use.Model)
	for _, c := range use.Categories {
		fmt.Fprintf(&out, "| %s | %d |\n", c.Name, c.Tokens)
	}
	return out.String(), nil
}
