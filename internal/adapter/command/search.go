package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// allProjects makes a search include all projects.
const allProjects = "all-projects"

// searchCommand searches the stored conversations of the project, or of all.
func searchCommand(ctx context.Context, s *session.Session, text string) (string, error) {
	rest, everywhere := strings.CutPrefix(text, allProjects)
	if everywhere = everywhere && (rest == "" || rest[0] == ' '); everywhere {
		text = strings.TrimSpace(rest)
	}
	if text == "" {
		return "Give the words to search for, such as `/search retry limit`.", nil
	}
	found, err := s.Search(ctx, text, everywhere)
	if err != nil {
		return "", err
	}
	if len(found) == 0 && !everywhere {
		return "Nothing was found in the conversations of this project. `/search " + allProjects + " WORDS` searches those of all projects.", nil
	}
	var b strings.Builder
	for _, one := range found {
		title := strings.TrimSpace(visible.Line(one.Title))
		fmt.Fprintf(&b, "- %s, `%s`, %s", markdown.Escaped(cmp.Or(title, "without a title")), one.ID, one.UpdatedAt.Format("2006-01-02 15:04"))
		if everywhere {
			b.WriteString(", in " + entry(one.CWD))
		}
		if one.Archived {
			b.WriteString(" (archived)")
		}
		if slices.Contains(one.Thread, s.State().DroidSessionID) {
			b.WriteString(" (this thread)")
		}
		b.WriteString("\n")
		for _, hit := range one.Hits[:min(len(one.Hits), shownHits)] {
			fmt.Fprintf(&b, "  - %s: %s\n", speaker(hit), markdown.Escaped(visible.Line(hit.Text)))
		}
	}
	return cmp.Or(b.String(), "Nothing was found."), nil
}

// shownHits is how many places of a conversation are shown.
const shownHits = 3

// speaker says whose text was found.
func speaker(hit session.FoundText) string {
	switch {
	case hit.Role == "user":
		return "you"
	case hit.Role == "assistant":
		return "droid"
	case hit.Kind == "tool_use":
		return "a tool call"
	case hit.Kind == "tool_result":
		return "a tool's result"
	}
	return "a text"
}
