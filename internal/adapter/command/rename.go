package command

import (
	"context"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/store"
)

// renameCommand gives the session a title, as session/set_title does. One that droid stores although the command
// was cancelled in the meantime counts.
func renameCommand(ctx context.Context, s *session.Session, title string) (string, error) {
	if title = store.CleanTitle(title); title == "" {
		return "Give a title: `/rename My title`.", nil
	}
	if err := s.Rename(ctx, title); err != nil {
		return "", session.Failed("The session was not renamed", err)
	}
	return "The session is called “" + title + "” now.", nil
}
