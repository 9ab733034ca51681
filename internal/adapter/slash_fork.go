package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/opening"
)

// forkedText says where the copy is that /fork made.
const forkedText = "The copy is the session `%s`; open it from your editor's list of sessions. This thread goes on as it is."

// forkCommand has droid copy the session, or with an argument an earlier one of the
// thread. The thread stays with the one it is on.
func forkCommand(r *commandRun, args string) {
	const failed = "The session was not copied"
	if args != "" {
		forkEarlier(r, failed, args)
		return
	}
	a, works := r.s.agent, r.s.droidID
	id, failure := r.s.copyHere(r.work)
	if failure != nil {
		r.fail(failed, errors.New(acperr.Text(failure)))
		return
	}
	err := r.unlocked(func(ctx context.Context) error {
		ids, err := a.threads.IDs(ctx, works)
		if err == nil {
			a.copyOptions(ctx, ids, id)
		}
		return err
	})
	if err != nil {
		r.s.log.Warn("a copy was not given the thread's options", zap.Error(err))
	}
	r.reply(fmt.Sprintf(forkedText, id))
}

// forkEarlier copies the conversation that the thread had before a compaction or a
// rewind. which is its session's id, or "before" for the last one.
func forkEarlier(r *commandRun, failed, which string) {
	a, works, cwd := r.s.agent, r.s.droidID, r.s.cwd
	var made opening.Copied
	err := r.unlocked(func(ctx context.Context) error {
		ids, err := a.threads.IDs(ctx, works)
		if err != nil {
			return err
		}
		id, err := earlier(ids, works, which)
		if err == nil {
			err = a.opener.Copy(ctx, a.opener.DirectoryOf(ctx, id, cwd), id, &made)
		}
		if err == nil {
			a.copyOptions(ctx, ids, made.ID)
		}
		return err
	})
	if err != nil {
		r.fail(failed, err)
		return
	}
	r.reply(fmt.Sprintf(forkedText, made.ID))
}

// earlier finds a session of a thread that is not the one it works on.
func earlier(ids []string, works, which string) (string, error) {
	at := slices.Index(ids, works)
	switch i := slices.Index(ids, which); {
	case which == "before" && at > 0:
		return ids[at-1], nil
	case which == "before":
		return "", errors.New("this thread has no conversation before; it was not compacted or rewound")
	case which == works:
		return "", errors.New("that is the session that this thread works on; `/fork` alone copies it")
	case i < 0:
		return "", fmt.Errorf("%.80q is not one of this thread's earlier conversations; `/sessions` lists them", which)
	default:
		return ids[i], nil
	}
}
