package adapter

import (
	"context"
	"slices"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/wire"
)

// deleteSession removes a thread from the store, whichever of its ids is given. Its
// files are moved aside, see store.Delete. A session that does not exist is deleted
// already.
func (a *Agent) deleteSession(c *wire.Call) (any, *acp.RequestError) {
	var params struct {
		SessionID string `json:"sessionId"`
	}
	if err := decode(c.Params, &params); err != nil {
		return nil, err
	}
	if err := checkSessionID(params.SessionID); err != nil {
		return nil, err
	}
	place := a.arrive(c, params.SessionID, true)
	defer place.leave()
	if _, err := a.threadAt(c.Context, place); err != nil {
		return nil, err
	}
	var open []*Session
	err := place.turn(c.Context, func() {
		var known []string
		open, known = a.sessions.all(place.ids)
		for _, id := range known {
			if !slices.Contains(place.ids, id) {
				place.ids = append(place.ids, id) // it could not be noted that the thread went on there
			}
		}
		for _, s := range open {
			a.sessions.forgets(s)
		}
		place.keep(nil)
	})
	if err != nil {
		return nil, err
	}
	for _, s := range open {
		s.cancelAndWait()
		s.post(func() {
			if client := s.proc.client(); client != nil {
				client.Kill() // it would write to the files once more as it leaves
			}
		})
		s.stop()
	}
	place.alone()
	if _, err := boundedAtEnd(context.Background(), a, "Store.Delete", "session "+params.SessionID, done(func() error { return a.cfg.Store.Delete(place.ids...) })); err != nil {
		return nil, internalError("delete_failed", "the session could not be deleted: "+err.Error())
	}
	return struct{}{}, nil
}
