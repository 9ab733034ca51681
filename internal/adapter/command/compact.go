package command

import (
	"context"
	"errors"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/render"
)

// compactCommand replaces the conversation by a summary, once the user has agreed: some menus run the
// command on a key that was meant for another one.
func compactCommand(ctx context.Context, s *session.Session, instructions string) (string, error) {
	if err := s.AgreeToCompact(ctx); err != nil {
		return "", err
	}
	done, err := s.Compact(ctx, instructions)
	switch {
	case errors.Is(err, session.ErrNothingToCompact):
		return "", nil // which the session has shown
	case err != nil:
		return "", err
	}
	return "Compacted: " + render.SummaryNote(done.Removed) + done.Hint, nil
}
