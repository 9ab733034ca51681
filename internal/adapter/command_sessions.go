package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"droid-acp/internal/store"
)

// errListTime is why listing was given up.
var errListTime = errors.New("the sessions could not be read within a minute")

// sessionsCommand lists the sessions that were used last, wherever they were made.
func sessionsCommand(r *commandRun, _ string) {
	sessions := r.s.agent.cfg.Store
	if sessions == nil {
		r.reply("There is no store of sessions.")
		return
	}
	var page store.Page
	r.beside(openTime, errListTime, func(ctx context.Context) (err error) {
		page, err = sessions.List(ctx, store.Query{Limit: 20})
		return err
	}, func(err error) {
		if err != nil {
			r.fail("The sessions could not be listed", err)
			return
		}
		var b strings.Builder
		for _, one := range page.Sessions {
			fmt.Fprintf(&b, "- `%s` %s, %s, in %s\n", one.ID, one.UpdatedAt.Format("2006-01-02 15:04"), cmp.Or(one.Title, "without a title"), one.CWD)
		}
		r.reply(cmp.Or(b.String(), "There are no sessions."))
	})
}
