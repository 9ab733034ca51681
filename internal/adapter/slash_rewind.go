package adapter

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/links"
	"droid-acp/internal/opening"
	"droid-acp/internal/rewind"
	"droid-acp/internal/threads"
)

// rewindCommand goes back to before one of the user's prompts, or lists them.
func rewindCommand(r *slashRun, args string) {
	const failed = "The session was not rewound"
	r.history(failed, func(info *stream.SessionInfo) {
		points, fields := rewind.Points(info.Messages), strings.Fields(args)
		switch {
		case len(points) == 0:
			r.reply("There is nothing to go back to.")
			return
		case len(fields) == 0:
			r.reply(rewind.List(points))
			return
		}
		n, err := strconv.Atoi(fields[0])
		if err != nil || n < 1 || n > len(points) {
			r.fail(failed, fmt.Errorf("%s is not the number of a prompt; they go from 1 to %d", fields[0], len(points)))
			return
		}
		files := len(fields) > 1
		client, session := r.s.proc.Client(), r.s.droidID
		var text string
		var next threads.Successor
		r.beside(opening.Time, opening.ErrTime, func(ctx context.Context) error {
			next = r.s.agent.threads.Successor(ctx, session)
			said, to, err := rewind.Before(ctx, client, session, next.Title, points[n-1], files)
			if err == nil {
				next.Made(to, links.Rewind)
			}
			text = said
			return err
		}, func(err error) {
			if err != nil {
				r.fail(failed, err)
				return
			}
			fresh := !client.Version().Has(stream.GoesOverAfterRewind)
			r.goOn(next, fresh, func(hint string) {
				r.reply(fmt.Sprintf("This thread is back at the point before prompt %d. ", n) + text + hint)
			})
		})
	})
}
