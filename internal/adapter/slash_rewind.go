package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/render"
)

// rewindCommand goes back to before one of the user's prompts, or lists them.
func rewindCommand(r *commandRun, args string) {
	const failed = "The session was not rewound"
	info := r.history(failed)
	if info == nil {
		return
	}
	points, fields := rewindPoints(info.Messages), strings.Fields(args)
	switch {
	case len(points) == 0:
		r.reply("There is no prompt to go back to. Prompts before a summary cannot be rewound; `/fork before` reopens them.")
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
	to := points[n-1]
	w := &rewinding{s: r.s, client: r.s.proc.Client(), session: r.s.droidID, cwd: r.s.cwd, overlay: r.s.fileCalls.overlay}
	var next store.Successor
	var files []rewoundFile
	var done rewound
	err = r.unlocked(func(ctx context.Context) error {
		next = r.s.agent.threads.Successor(ctx, w.session)
		found, at, err := rewindFiles(ctx, w.client, w.session, to, info.Messages, w.cwd, len(fields) > 1)
		done.evicted = len(found.Evicted)
		files = w.look(ctx, found, at, editsFrom(info.Messages, to.MessageID, w.cwd))
		return err
	})
	if err != nil {
		r.fail(failed, err)
		return
	}
	goesOver := w.client.Version().Has(stream.GoesOverAfterRewind)
	ends := !goesOver && r.s.proc.Background()
	if ends || len(files) > 0 {
		named := make([]render.RewoundFile, len(files))
		for i, f := range files {
			named[i] = f.RewoundFile
		}
		question := r.s.show.RewindQuestion(named, ends)
		if question == nil { // nobody can be asked
			files = slices.DeleteFunc(files, func(f rewoundFile) bool {
				if f.MayLoseChanges() {
					done.unasked = append(done.unasked, f.Path)
				}
				return f.MayLoseChanges()
			})
		}
		if !r.agree(question, "Not rewound", "Agreed: go back") || r.over() {
			return
		}
	}
	titles, none := r.s.take(r.work, &r.s.titles, "a rewind", needTitle)
	if none != nil {
		return // it was cancelled, or the session ends
	}
	defer titles()
	// From here on a cancel ends the command when droid has answered: what became of the
	// conversation and the files is told in every case.
	r.keep()
	err = r.unlocked(func(ctx context.Context) (err error) {
		err = w.goBack(ctx, &done, next.Title, to, files)
		if err == nil {
			next.Made(done.NewSessionID, store.LinkRewind)
		}
		return err
	})
	for _, path := range done.saved {
		r.s.update(render.SavedNotice(path))
	}
	var refused *stream.RPCError
	switch {
	case errors.As(err, &refused):
		r.fail(failed, err)
		return
	case err != nil:
		r.fail("The session goes on as it was. Whether files were restored is not known", plainly(err))
		return
	}
	text := done.text(r.s.show)
	if r.switchSession(next, !goesOver) {
		titles() // it has another one from here on
		hint := r.arrived(next)
		r.reply(fmt.Sprintf("This thread is back at the point before prompt %d. ", n) + text + hint)
	}
}
