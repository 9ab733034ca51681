package serve

import (
	"context"
	"io"
	"slices"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
)

// Earlier is a draining server that this one has replaced. This one accepts the new sessions, and reaches those of the earlier server by an
// agent that is a connection to it.
type Earlier interface {
	// Runs reports whether there is one, or this one was replaced. Then both servers use the same directory of journals.
	Runs() bool
	// Yield reports whether one of the sessions is in use in the earlier server, and closes one that is open there unused.
	Yield(sessions []string) (inUse bool, err error)
	// Serve relays messages between the earlier server and a client whose agent would be started with h, until in ends.
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

// DrainAside is Drain for a server that was replaced. It ends the connection of a client once nothing works for the client here, so that its
// next prompt goes to the other server.
func (s *Server) DrainAside(ctx context.Context) error {
	s.mu.Lock()
	s.aside = true
	s.dismissIdle()
	s.mu.Unlock()
	return s.Drain(ctx)
}

// dismissIdle dismisses the clients for which nothing works: their requests are refused from now on. It spares those that have connected
// since the replacement, to open a session that works. The caller holds mu.
func (s *Server) dismissIdle() {
	for c := range s.clients {
		if busy, opened := c.activity(); !busy && !c.dismissed && (opened || !c.late) {
			c.dismissed = true
			time.AfterFunc(dismissTime, c.sendAway)
		}
	}
}

// dismissTime is how long a dismissed client stays connected, so that requests on their way are answered.
const dismissTime = time.Second

// awaitDismissed waits until the connections of dismissed clients have ended, but not long for clients that do not read.
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
		c.refuse(h.ID, jsonrpc.InternalError("server_replaced", "Not done: another server has the place of this one. Connect again, and open the session again."))
		c.sendAway()
	}
}

// TakenOver is the reason for ending the connection of a client that must connect to the new server.
const TakenOver = "a new server has taken over; connect again"

// sendAway ends the connection of a dismissed client. The caller need not hold mu.
func (c *Client) sendAway() { c.out.Close(TakenOver) }

// activity reports whether the client has a busy session or an unanswered request, and whether it has a session open.
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

// findEarlier records whether the earlier server has a session in use that is not open here. It releases mu while it asks.
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

// earlierAgent returns the client's connection to the earlier server, on which the client has the same role as here.
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

// refuseEarlier refuses a request about a session that the earlier server may have: it did not answer.
func (c *Client) refuseEarlier(h jsonrpc.Head, id string, err error) {
	c.server.Log.Warn("the server that this one replaces does not answer", zap.Error(err))
	c.logRefusal(h.Method, id, "the server that this one replaces does not say whether it has the session")
	c.reply(h, jsonrpc.InternalError("server_ends", "Not done: the server that this one replaces does not say whether it has the session open. Try again in a while."))
}
