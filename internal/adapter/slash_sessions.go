package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"droid-acp/internal/adapter/opening"
	"droid-acp/internal/droid/store"
)

// errListTime is why listing was given up.
var errListTime = errors.New("the sessions could not be read within a minute")

// sessionsCommand lists the sessions that were used last, wherever they were made, and
// the earlier conversations of this thread.
func sessionsCommand(r *commandRun, _ string) {
	a := r.s.agent
	var page store.Page
	var before []store.Session
	var thread []string
	works := r.s.droidID
	err := r.unlockedFor(opening.Time, errListTime, func(ctx context.Context) (err error) {
		if page, err = a.listStored(ctx, store.Query{Limit: 20}); err != nil {
			return err
		}
		if thread, err = a.threads.IDs(ctx, works); err != nil {
			return err
		}
		for _, id := range thread {
			if one, err := a.opener.Find(ctx, id); err == nil && id != works {
				before = append(before, one)
			}
		}
		return nil
	})
	if err != nil {
		r.fail("The sessions could not be listed", err)
		return
	}
	var b strings.Builder
	listStored(&b, page.Sessions, thread)
	if len(before) > 0 {
		b.WriteString("\nThis thread was compacted or rewound. `/fork ID` makes a thread of its own from a conversation that it had before:\n\n")
		listStored(&b, before, nil)
	}
	r.reply(cmp.Or(b.String(), "There are no sessions."))
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
