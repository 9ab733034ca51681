package adapter

import (
	"context"

	"droid-acp/internal/droid"
	"droid-acp/internal/opening"
	"droid-acp/internal/store"
)

// renameCommand gives the session a title.
func renameCommand(r *slashRun, title string) {
	if title = store.CleanTitle(title); title == "" {
		r.reply("Give a title: `/rename My title`.")
		return
	}
	r.droid(func(client *droid.Client) {
		s, id := r.s, r.s.droidID
		r.beside(opening.Time, opening.ErrTime, func(ctx context.Context) error {
			_, err := s.agent.rename(ctx, client, id, title)
			return err
		}, func(err error) {
			if err != nil {
				r.fail("The session was not renamed", err)
				return
			}
			s.titled(title, true)
			r.reply("The session is called “" + title + "” now.")
		})
	})
}
