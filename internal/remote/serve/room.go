package serve

import (
	"math"
	"time"
)

// An agent is not read while the client that its session is for has no room, unless that would hold up another client.

// stallTime is the time between two looks at a client that loads a session and has no room. If it read nothing in between, an agent that
// others use, too, no longer waits for it.
const stallTime = 5 * time.Second

// awaitRoom waits while the client that loads the session, or the only one that uses the agent, has no room. If others use the agent, it does
// not wait for a client that reads nothing, see stallTime.
func (a *agent) awaitRoom(o *session) {
	look, waiting := time.NewTicker(stallTime), math.MaxInt
	defer look.Stop()
	for {
		a.server.mu.Lock()
		full, changed := o.full(), a.server.changed
		a.server.mu.Unlock()
		if full == nil {
			return
		}
		select {
		case <-full:
			return
		case <-changed: // another client may use the agent now
		case <-look.C:
			a.server.mu.Lock()
			if l := o.loader; l != nil && !a.isOnlyFor(l) {
				before := waiting
				waiting = l.out.Waiting()
				o.stalled = waiting >= before
			}
			a.server.mu.Unlock()
		case <-a.killRequested:
			return
		}
	}
}

// full returns a channel that is closed once a client has room for more: the one that loads the session, or the only one that uses its agent.
// It returns nil if there is no such client, or that has room.
func (o *session) full() <-chan struct{} {
	switch {
	case o.loader != nil:
		room := o.loader.out.Full()
		if o.stalled = o.stalled && room != nil; o.stalled {
			return nil // what is too much for it ends its connection
		}
		return room
	case len(o.subscribers) == 1 && !o.subscribers[0].replaying && o.agent.isOnlyFor(o.subscribers[0].client):
		return o.subscribers[0].client.out.Full()
	}
	return nil
}
