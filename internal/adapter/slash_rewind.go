package adapter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"droid-acp/internal/adapter/opening"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
)

// rewindCommand goes back to before one of the user's prompts, or lists them.
func rewindCommand(r *slashRun, args string) {
	const failed = "The session was not rewound"
	r.history(failed, func(info *stream.SessionInfo) {
		points, fields := rewindPoints(info.Messages), strings.Fields(args)
		switch {
		case len(points) == 0:
			r.reply("There is nothing to go back to.")
			return
		case len(fields) == 0:
			r.reply(listRewindPoints(points))
			return
		}
		n, err := strconv.Atoi(fields[0])
		if err != nil || n < 1 || n > len(points) {
			r.fail(failed, fmt.Errorf("%s is not the number of a prompt; they go from 1 to %d", fields[0], len(points)))
			return
		}
		client, session := r.s.proc.Client(), r.s.droidID
		var next store.Successor
		var files droid.RewindInfo
		r.beside(opening.Time, opening.ErrTime, func(ctx context.Context) (err error) {
			next = r.s.agent.threads.Successor(ctx, session)
			files, err = rewindFiles(ctx, client, session, points[n-1], len(fields) > 1)
			return err
		}, func(err error) {
			if err != nil {
				r.fail(failed, err)
				return
			}
			now := func() { rewindNow(r, client, next, n, points[n-1], files) }
			if client.Version().Has(stream.GoesOverAfterRewind) || !r.s.proc.Background() {
				now()
				return
			}
			r.agree(r.s.show.RewindQuestion(), "Not rewound", "Agreed: go back", now)
		})
	})
}

// rewindNow has droid go back. From here on a cancel ends the command when droid has answered: what became of
// the conversation and the files is told in every case.
func rewindNow(r *slashRun, client *droid.Client, next store.Successor, n int, to rewindPoint, files droid.RewindInfo) {
	if r.over() {
		return
	}
	r.keep()
	var text string
	r.beside(opening.Time, opening.ErrTime, func(ctx context.Context) error {
		said, id, err := rewindBefore(ctx, client, next.From, next.Title, to, files)
		if err == nil {
			next.Made(id, store.LinkRewind)
		}
		text = said
		return err
	}, func(err error) {
		var refused *stream.RPCError
		switch {
		case errors.As(err, &refused):
			r.fail("The session was not rewound", err)
		case err != nil:
			r.fail("The session goes on as it was. Whether files were restored is not known", err)
		default:
			fresh := !client.Version().Has(stream.GoesOverAfterRewind)
			r.goOn(next, fresh, func(hint string) {
				r.reply(fmt.Sprintf("This thread is back at the point before prompt %d. ", n) + text + hint)
			})
		}
	})
}
