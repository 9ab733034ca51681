package adapter

import (
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
	ids := a.threadIDs(params.SessionID)
	open, known := a.sessions.all(ids)
	for _, id := range known {
		if !slices.Contains(ids, id) {
			ids = append(ids, id) // it could not be noted that the thread went on there
		}
	}
	for _, s := range open {
		a.sessions.forget(s)
	}
	before, free := a.sessions.reserve(ids)
	defer free()
	c.Ordered()
	for _, s := range open {
		s.cancelAndWait()
		s.post(func() {
			if client := s.proc.client(); client != nil {
				client.Kill() // it would write to the files once more as it leaves
			}
		})
		s.stop()
	}
	before.wait()
	if err := a.cfg.Store.Delete(ids...); err != nil {
		return nil, internalError("delete_failed", "the session could not be deleted: "+err.Error())
	}
	return struct{}{}, nil
}
