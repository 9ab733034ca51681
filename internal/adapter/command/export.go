package command

import (
	"context"
	"strings"

	"droid-acp/internal/adapter/session"
)

// withDirectory makes the page contain the session's directory, which reveals something about the machine.
const withDirectory = "with-directory"

// exportCommand writes the conversation to one HTML file.
func exportCommand(ctx context.Context, s *session.Session, file string) (string, error) {
	rest, named := strings.CutPrefix(file, withDirectory)
	if named = named && (rest == "" || rest[0] == ' '); named {
		file = strings.TrimSpace(rest)
	}
	path := ""
	info, err := s.History(ctx)
	if err == nil {
		path, err = s.Export(ctx, info, file, named)
	}
	if err != nil {
		return "", session.Failed("The conversation was not exported", err)
	}
	return "The conversation is in `" + path + "`.", nil
}
