package adapter

import (
	"context"
	"slices"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/internal/owner"
	"droid-acp/internal/adapter/internal/registry"
	"droid-acp/internal/adapter/problem"
	"droid-acp/internal/sys/files"
)

// deleteSession removes a thread from the store, whichever of its ids is given. Its
// files are moved aside, see store.Delete. A session that does not exist is deleted
// already.
func (a *Agent) deleteSession(c *wire.Call) (any, *acp.RequestError) {
	id, err := idOf(c)
	if err != nil {
		return nil, err
	}
	place := a.arrive(c, id, registry.Opens)
	defer place.Leave()
	if _, err := a.threadAt(c.Context, place); err != nil {
		return nil, err
	}
	if err := turnOf(c.Context, place); err != nil {
		return nil, err
	}
	open := place.All()
	place.Acted()
	for _, s := range open {
		if err := s.onlyHere(); err != nil {
			return nil, notDeleted(err) // and the session goes on
		}
	}
	if err := turnOf(c.Context, place); err != nil {
		return nil, err
	}
	open = place.All()
	ids := place.Keep(open...) // also those of which it could not be noted that the thread went on there
	place.Acted()
	for _, s := range open {
		s.cancelAndWait()
		s.Post(func() { s.endDroid(killed, "its session is deleted") }) // it would write to the files once more as it leaves
		s.Stop()
	}
	place.Alone()
	more, unknown := a.threads.IDs(context.Background(), id) // a command may have had droid make one meanwhile
	if unknown != nil {
		return nil, notDeleted(unknown)
	}
	ids = slices.Compact(slices.Sorted(slices.Values(append(ids, more...))))
	if _, err := files.WithinAtEnd(context.Background(), a.calls, "Store.Delete", "session "+id, files.Done(func() error { return a.cfg.Store.Delete(ids...) })); err != nil {
		return nil, notDeleted(err)
	}
	return struct{}{}, nil
}

func notDeleted(err error) *acp.RequestError {
	return problem.Internal("delete_failed", "The session could not be deleted: "+err.Error())
}

// onlyHere is nil where no other window has the session open. The session's own note does not count; it is made anew where another one has.
func (s *Session) onlyHere() (held error) {
	_, _ = owner.Ask(s.Owner, nil, func(t *owner.Task) (none struct{}, err *acp.RequestError) {
		if s.loading.Is(s.droidID) {
			return none, nil // its own load is noted, too
		}
		id, release := s.droidID, s.lock.Begin("")
		t.Beside(func(ctx context.Context) {
			if release != nil {
				s.agent.atEnd("release", files.ReleaseTime, release)
			}
			held = s.agent.opener.Free(ctx, id)
		})
		if held != nil {
			s.lockStored()
		}
		return none, nil
	})
	return held
}
