package adapter

import (
	"context"
	"slices"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/wire"
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
	ids := place.Keep(open...) // also those of which it could not be noted that the thread went on there
	place.Acted()
	for _, s := range open {
		s.cancelAndWait()
		s.Post(func() { s.endDroid(killed, "its session is deleted") }) // it would write to the files once more as it leaves
		s.Stop()
	}
	place.Alone()
	if more, err := a.threads.IDs(context.Background(), id); err == nil { // a command may have had droid make one meanwhile
		ids = slices.Compact(slices.Sorted(slices.Values(append(ids, more...))))
	}
	if _, err := files.WithinAtEnd(context.Background(), a.calls, "Store.Delete", "session "+id, files.Done(func() error { return a.cfg.Store.Delete(ids...) })); err != nil {
		return nil, problem.Internal("delete_failed", "The session could not be deleted: "+err.Error())
	}
	return struct{}{}, nil
}
