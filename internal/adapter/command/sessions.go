package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/store"
)

// sessionsCommand lists the sessions that were used last, wherever they were made, and
// the earlier conversations of this thread.
func sessionsCommand(ctx context.Context, s *session.Session, _ string) (string, error) {
	all, err := s.LatestSessions(ctx)
	if err != nil {
		return "", session.Failed("The sessions could not be listed", err)
	}
	var b strings.Builder
	listStored(&b, all.Latest, all.Thread)
	if len(all.Earlier) > 0 {
		b.WriteString("\nThis thread was compacted or rewound. `/fork ID` makes a thread of its own from a conversation that it had before:\n\n")
		listStored(&b, all.Earlier, nil)
	}
	return cmp.Or(b.String(), "There are no sessions."), nil
}

// listStored writes a line for each session, and says which one is this thread.
func listStored(b *strings.Builder, list []store.Session, thread []string) {
	for _, one := range list {
		fmt.Fprintf(b, "- `%s` %s, %s, in %s", one.ID, one.UpdatedAt.Format("2006-01-02 15:04"), cmp.Or(one.Title, "without a title"), one.CWD)
		if slices.Contains(thread, one.ID) {
			b.WriteString(" (this thread)")
		}
		b.WriteString("\n")
	}
}
