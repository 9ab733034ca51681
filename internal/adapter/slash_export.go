package adapter

import (
	"context"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/opening"
)

// exportCommand writes the conversation to one HTML file.
func exportCommand(r *slashRun, file string) {
	const failed = "The conversation was not exported"
	r.history(failed, func(info *stream.SessionInfo) {
		session, cwd, seen := r.s.droidID, r.s.cwd, r.s.usage.Past()
		var path string
		r.beside(opening.Time, opening.ErrTime, func(ctx context.Context) (err error) {
			path, err = r.s.agent.exportTo(ctx, info, session, cwd, file, seen)
			return err
		}, func(err error) {
			if err != nil {
				r.fail(failed, err)
				return
			}
			r.reply("The conversation is in `" + path + "`.")
		})
	})
}
