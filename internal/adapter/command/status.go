package command

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/stream"
)

// statusCommand shows what a bug report needs.
func statusCommand(ctx context.Context, s *session.Session, _ string) (string, error) {
	is := s.Status(ctx)
	protocol := "no process runs; the next prompt starts one"
	if version := is.Runs; version != nil {
		protocol = "protocol " + version.String()
		if missing := version.Missing(); missing != "" {
			protocol += "; it " + missing + ". " + stream.Update
		}
		if untried := version.Untried(); untried != "" {
			protocol += "; it " + untried
		}
		protocol += strangeText(is.Unknown)
	}
	waits := ""
	if len(is.Waits) > 0 {
		waits = "- what waits: " + strings.Join(is.Waits, "; ") + "\n"
	}
	session := "- session " + is.SessionID
	if is.DroidSessionID != is.SessionID {
		session += "\n- droid's session " + is.DroidSessionID
	}
	return fmt.Sprintf("- droid-acp %s, %s/%s, %s\n- droid %s: %s, %s\n%s\n- directory %s%s\n- files %s\n- model %s, effort %s, mode %s, follow-ups: %s\n%s",
		is.Agent, runtime.GOOS, runtime.GOARCH, runtime.Version(), is.Release, is.Droid, protocol, session, is.CWD, is.Trusted, is.FilesWay,
		is.Model, is.ReasoningEffort, is.Mode.Title(), is.FollowUp, waits), nil
}

// strangeText names what droid said and droid-acp has no table of.
func strangeText(strange map[string]int) string {
	if len(strange) == 0 {
		return ""
	}
	var all []string
	for _, what := range slices.Sorted(maps.Keys(strange)) {
		all = append(all, fmt.Sprintf("%s (%d)", what, strange[what]))
	}
	return "\n- droid said what droid-acp does not know: " + strings.Join(all, ", ")
}
