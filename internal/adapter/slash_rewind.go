package adapter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/show"
)

// rewindCommand goes back to before one of the user's prompts, or lists them.
func rewindCommand(r *slashRun, args string) {
	const failed = "The session was not rewound"
	info := r.history(failed)
	if info == nil {
		return
	}
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
	client, session, cwd, to := r.s.proc.Client(), r.s.droidID, r.s.cwd, points[n-1]
	var next store.Successor
	var files droid.RewindInfo
	var changes []show.RewoundFile
	err = r.beside(func(ctx context.Context) (err error) {
		next = r.s.agent.threads.Successor(ctx, session)
		files, err = rewindFiles(ctx, client, session, to, info.Messages, cwd, len(fields) > 1)
		changes = r.s.agent.rewoundFiles(ctx, files, info.Messages, cwd)
		return err
	})
	if err != nil {
		r.fail(failed, err)
		return
	}
	goesOver := client.Version().Has(stream.GoesOverAfterRewind)
	ends := !goesOver && r.s.proc.Background()
	if (ends || len(changes) > 0) && !r.agree(r.s.show.RewindQuestion(changes, ends), "Not rewound", "Agreed: go back") || r.over() {
		return
	}
	titles, none := r.s.line.Take(r.work, r.task, "a rewind", needTitle)
	if none != nil {
		return // it was cancelled, or the session ends
	}
	defer titles()
	// From here on a cancel ends the command when droid has answered: what became of the
	// conversation and the files is told in every case.
	r.keep()
	var text string
	err = r.beside(func(ctx context.Context) error {
		said, id, err := rewindBefore(ctx, client, next.From, next.Title, to, files)
		if err == nil {
			next.Made(id, store.LinkRewind)
		}
		text = said
		return err
	})
	var refused *stream.RPCError
	switch {
	case errors.As(err, &refused):
		r.fail(failed, err)
		return
	case err != nil:
		r.fail("The session goes on as it was. Whether files were restored is not known", plainly(err))
		return
	}
	if r.goOn(next, !goesOver) {
		titles() // it has another one from here on
		hint := r.arrived(next)
		r.reply(fmt.Sprintf("This thread is back at the point before prompt %d. ", n) + text + hint)
	}
}
