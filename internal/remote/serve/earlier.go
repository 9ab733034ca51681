package serve

import (
	"context"
	"io"
	"slices"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
)

// Earlier is a server that drains while this one has its place and takes the new sessions. Its sessions are reached by an agent that is a
// connection to it.
type Earlier interface {
	// Runs reports whether there is one, or this one has given its place away. Both servers use the same journals then.
	Runs() bool
	// Yield reports whether one of the sessions is in use in the earlier server. If one is open there unused, it is closed first.
	Yield(sessions []string) (inUse bool, err error)
	// Serve passes messages on between the earlier server and a client whose agent would be started with h, until in ends.
	Serve(h AttachParams, in io.Reader, out io.Writer) error
}

// Yield reports whether a session is in use: it works, or a client has it open. It closes one that is open unused, so that another server
// can open it.
func (s *Server) Yield(ctx context.Context, id string) (inUse bool) {
	asked := false
	_ = s.await(ctx, func() bool { // otherwise it is in use
		open := s.sessions[id]
		switch {
		case open == nil:
			inUse = false
			return true
		case open.changing, open.agent.ending:
			inUse = true
			return false
		case asked || open.needed():
			inUse = true
			return true
		}
		asked, inUse = true, true
		open.close()
		return false
	})
	return inUse
}

// DrainAside is Drain for a server whose place another one has taken. The connection of a client ends once nothing works for it here, so
// that its next prompt goes to the other server.
func (s *Server) DrainAside(ctx context.Context) error {
	s.mu.Lock()
	s.aside = true
	s.dismissIdle()
	s.mu.Unlock()
	return s.Drain(ctx)
}

// dismissIdle dismisses clients for which nothing works: nothing more of them is done. It leaves those that have come since to open a
// session that works. The caller holds mu.
func (s *Server) dismissIdle() {
	for c := range s.clients {
		if busy, opened := c.activity(); !busy && !c.dismissed && (opened || !c.late) {
			c.dismissed = true
			time.AfterFunc(dismissTime, c.sendAway)
		}
	}
}

// dismissTime is how long a dismissed client stays connected: a request that is on its way is answered.
const dismissTime = time.Second

// awaitDismissed waits until the connections of dismissed clients have ended, but not for clients that do not take that in.
func (s *Server) awaitDismissed(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*dismissTime)
	defer cancel()
	_ = s.await(ctx, func() bool { // otherwise Close ends them
		for c := range s.clients {
			if c.dismissed {
				return false
			}
		}
		return true
	})
}

// refuseDismissed refuses a request of a dismissed client, and ends its connection.
func (c *Client) refuseDismissed(h jsonrpc.Head) {
	if h.IsRequest() {
		c.logRefusal(h.Method, "", "another server has the place of this one")
		c.refuse(h.ID, jsonrpc.InternalError("server_ends", "Not done: another server has the place of this one. Connect again, and open the session again."))
		c.sendAway()
	}
}

// TakenOver is the reason with which the connection of a client ends that goes on in a new server.
const TakenOver = "a new server has taken over; connect again"

// sendAway ends the connection of a dismissed client. It takes no lock.
func (c *Client) sendAway() { c.out.Close(TakenOver) }

// activity reports whether a session that the client has open is busy, or a request of it is not answered; and whether it has one open.
func (c *Client) activity() (busy, opened bool) {
	for _, open := range c.server.sessions {
		if open.loader == c || open.subscriber(c) != nil {
			busy, opened = busy || open.busy(), true
		}
	}
	for a := range c.server.agents {
		for _, call := range a.calls {
			busy = busy || call.client == c
		}
	}
	return busy, opened
}

// runsBesideAnother reports whether another server may use the journals.
func (s *Server) runsBesideAnother() bool { return s.Earlier != nil && s.Earlier.Runs() }

// findEarlier finds out whether the earlier server has a session in use that is not open here. It releases the lock meanwhile.
func (c *Client) findEarlier(id string) error {
	s := c.server
	if s.Earlier == nil || id == "" || c.find(id) != nil {
		return nil
	}
	h := c.attachParams
	s.mu.Unlock()
	inUse, err := s.usedEarlier(h, id)
	s.mu.Lock()
	switch {
	case err != nil:
	case !inUse:
		delete(c.earlier, id)
	case c.earlier == nil:
		c.earlier = map[string]bool{id: true}
	default:
		c.earlier[id] = true
	}
	return err
}

// usedEarlier reports whether the earlier server has a session in use, by any ID of its thread. The caller does not hold mu.
func (s *Server) usedEarlier(h AttachParams, id string) (inUse bool, err error) {
	if !s.runsBesideAnother() {
		return false, nil
	}
	ids := []string{id}
	if s.Thread != nil {
		others, err := s.Thread(h, id)
		if err != nil {
			return false, err
		}
		ids = append(ids, others...)
	}
	return s.Earlier.Yield(ids)
}

// earlierAgent returns the client's connection to the earlier server. There it may do what it may do here.
func (c *Client) earlierAgent() *agent {
	for a := range c.server.agents {
		if a.earlier && !a.ending && slices.Contains(a.clients, c) {
			return a
		}
	}
	a := c.server.startAgent(c, true, true)
	a.attachParams.Joins = c.joinsOnly() || !c.options.Local // others do not say how their agent is started, so nothing is compared
	a.attachParams.WatchOnly = !c.has(Answer | Prompt)
	a.attachParams.Stderr, a.attachParams.Activity = false, true
	a.initialize(c)
	return a
}

// refuseEarlier refuses a request about a session of which it is not known whether the earlier server has it.
func (c *Client) refuseEarlier(h jsonrpc.Head, id string, err error) {
	c.server.Log.Warn("the server that this one replaces does not answer", zap.Error(err))
	c.logRefusal(h.Method, id, "the server that this one replaces does not say whether it has the session")
	c.reply(h, jsonrpc.InternalError("server_ends", "Not done: the server that this one replaces does not say whether it has the session open. Try again in a while."))
}
