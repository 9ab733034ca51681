package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
)

// Fork copies the session, with the options of its thread.
func (s *Session) Fork(ctx context.Context) (id string, failure *jsonrpc.Error) {
	works := s.droidID
	if id, failure = s.copyHere(ctx); failure != nil {
		return "", failure
	}
	err := s.callBounded(ctx, func(ctx context.Context) error {
		ids, err := s.deps.Threads.IDs(ctx, works)
		if err == nil {
			s.deps.copyOptions(ctx, ids, id)
		}
		return err
	})
	if err != nil {
		s.log.Warn("a copy was not given the thread's options", zap.Error(err))
	}
	return id, nil
}

// ForkEarlier copies the conversation that the thread had before a compaction or a
// rewind. which is its session's id, or "before" for the last one.
func (s *Session) ForkEarlier(ctx context.Context, which string) (id string, err error) {
	a, works, cwd := s.deps, s.droidID, s.cwd
	var made launch.Copied
	err = s.callBounded(ctx, func(ctx context.Context) error {
		ids, err := a.Threads.IDs(ctx, works)
		if err != nil {
			return err
		}
		id, err := earlier(ids, works, which)
		if err == nil {
			err = a.Launcher.Copy(ctx, a.Launcher.DirectoryOf(ctx, id, cwd), id, &made)
		}
		if err == nil {
			a.copyOptions(ctx, ids, made.ID)
		}
		return err
	})
	return made.ID, err
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

// copyHere has the session's process copy the session. Then the process works on the session that it
// had; only then comes the next call, which would be about the copy.
func (s *Session) copyHere(ctx context.Context) (id string, err *jsonrpc.Error) {
	release, err := s.lockRPC(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	failed := s.withDroid(s.Context, 1, func(client *droid.Client, _ *stream.SessionInfo) (err error) {
		s.unlocked(s.Context, func(sctx context.Context) {
			ctx, cancel := context.WithTimeoutCause(ctx, launch.Time, launch.ErrTime)
			defer cancel()
			defer context.AfterFunc(sctx, cancel)()
			id, err = client.Fork(ctx)
			err = launch.OutOfTime(ctx, err)
		})
		return err
	})
	if why := whyNoDroid(failed); why != nil {
		return "", why
	}
	s.backFromCopy(s.Context, failed)
	if failed != nil {
		return "", acperr.NotDone(acperr.Copying, failed)
	}
	return id, nil
}

// backFromCopy makes a droid that works on the copy it has made (quirk 35) load the original session again. If that fails, or droid's
// answer was not awaited, the next process loads it.
func (s *Session) backFromCopy(ctx context.Context, failed error) {
	var refused *stream.RPCError
	switch {
	case s.proc.Client() == nil || s.proc.Supports(stream.StaysAfterFork) || errors.As(failed, &refused):
		return
	case failed != nil:
		s.endDroid(replaced, "nobody waited for the copy that it makes")
		return
	}
	if _, err := s.loadInCall(ctx, 1, acperr.Loading); err != nil && s.proc.Client() != nil {
		s.log.Warn("droid did not load the session that it had copied", errorFields(err)...)
		s.endDroid(replaced, "it does not go back from a copy")
	}
}
