package command

import (
	"context"
	"fmt"
	"strings"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/stream"
)

// withTexts has a report say what the conversation says.
const withTexts = "with-texts"

// reportCommand writes a report.
func reportCommand(ctx context.Context, s *session.Session, file string) (string, error) {
	rest, texts := strings.CutPrefix(file, withTexts)
	if texts = texts && (rest == "" || rest[0] == ' '); texts {
		file = strings.TrimSpace(rest)
	}
	var info *stream.SessionInfo
	var err error
	said := "without prompts and texts of files"
	if texts {
		said = "with the whole conversation"
		info, err = s.History(ctx)
	}
	path := ""
	if err == nil {
		path, err = s.Report(ctx, file, "", info)
	}
	if err != nil {
		return "", session.Failed("The report was not written", err)
	}
	return fmt.Sprintf("The report is in `%s`, %s. Read it before you send it.", path, said), nil
}
