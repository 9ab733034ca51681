package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/links"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
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
		files := len(fields) > 1
		client, session := r.s.proc.client(), r.s.droidID
		var text string
		var next successor
		r.beside(openTime, errOpenTime, func(ctx context.Context) error {
			next = r.s.agent.successorOf(ctx, session)
			said, to, err := rewind(ctx, client, next, points[n-1], files)
			if err == nil {
				next.made(r.s.agent, to, links.Rewind)
			}
			text = said
			return err
		}, func(err error) {
			if err != nil {
				r.fail(failed, err)
				return
			}
			fresh := !client.Version().Has(stream.GoesOverAfterRewind)
			r.s.goOn(r, next, fresh, func(hint string) {
				r.reply(fmt.Sprintf("This thread is back at the point before prompt %d. ", n) + text + hint)
			})
		})
	})
}

// rewindPoint is a prompt that the user can go back to.
type rewindPoint struct{ messageID, text string }

// rewindPoints are the user's prompts in a history, oldest first.
func rewindPoints(messages []stream.Message) (points []rewindPoint) {
	for _, ev := range quirks.History(messages) {
		said, ok := ev.(quirks.UserText)
		if !ok || said.MessageID == "" {
			continue
		}
		if n := len(points); n > 0 && points[n-1].messageID == said.MessageID {
			points[n-1].text += show.UserWords(said, "")
			continue
		}
		points = append(points, rewindPoint{said.MessageID, show.UserWords(said, "")})
	}
	return points
}

func listRewindPoints(points []rewindPoint) string {
	var b strings.Builder
	b.WriteString("`/rewind N` goes back to before prompt N, `/rewind N files` restores the files, too:\n\n")
	for i, p := range points {
		fmt.Fprintf(&b, "%d. %s\n", i+1, show.FirstLine(p.text))
	}
	return b.String()
}

// rewind goes back to before a prompt, with the files if wanted. It returns what
// became of the files, and the new session, which gets the thread's title.
func rewind(ctx context.Context, client *droid.Client, next successor, p rewindPoint, files bool) (text, to string, err error) {
	session := next.from
	info, err := client.RewindInfo(ctx, session, p.messageID)
	var refused *stream.RPCError
	switch {
	case errors.As(err, &refused) && !files:
		// 0.99 and 0.117 know no files after they have loaded a session; the
		// conversation can be rewound all the same.
	case err != nil:
		return "", "", err
	}
	lost := len(info.Evicted)
	if !files {
		info = droid.RewindInfo{}
	}
	r, err := client.Rewind(ctx, session, p.messageID, cmp.Or(next.title, show.FirstLine(p.text)), info)
	if err != nil {
		return "", "", err
	}
	text = fmt.Sprintf("%d files were restored and %d deleted.", r.Restored, r.Deleted)
	if failed := r.FailedRestores + r.FailedDeletes; failed > 0 {
		text += fmt.Sprintf(" %d files could not be restored or deleted.", failed)
	}
	if lost > 0 {
		text += fmt.Sprintf(" droid no longer has the old content of %d files.", lost)
	}
	return text, r.NewSessionID, nil
}
