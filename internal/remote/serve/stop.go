package serve

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
)

// Kill ends the agent of a session at once, and its other sessions with it: for an agent that does not answer. It returns when the agent is
// gone.
func (s *Server) Kill(ctx context.Context, id string) error {
	s.mu.Lock()
	open := s.sessions[id]
	if open == nil {
		s.mu.Unlock()
		return s.notOpen(id)
	}
	a := open.agent
	for _, other := range s.sessions {
		if other.agent == a {
			other.broadcastText("\n\nThe agent of this session was ended by force. Open the session again to go on.\n\n", nil)
		}
	}
	s.Log.Warn("ending an agent by force", zap.String("session", id), zap.Int("agent", a.pid()))
	a.end()
	a.kill()
	s.mu.Unlock()
	if err := s.await(ctx, func() bool { _, runs := s.agents[a]; return !runs }); err != nil {
		return fmt.Errorf("the agent of session %s does not end: %w", id, err)
	}
	return nil
}

func (s *Server) notOpen(id string) error {
	return fmt.Errorf("no session %s is open here; %s lists those that are", id, s.Command("ps"))
}

// Drain accepts no new sessions, and returns nil once nothing works. If it has not come to that when ctx is done, it returns an error, and
// the server accepts sessions again.
func (s *Server) Drain(ctx context.Context) error {
	s.mu.Lock()
	s.drains++
	s.mu.Unlock()
	begun := time.Now()
	s.Log.Info("accepting no new sessions until nothing works")
	err := s.await(ctx, func() bool { return s.busy() == 0 })
	if err == nil {
		s.awaitDismissed(ctx)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drains--; s.drains == 0 {
		s.Log.Info("accepting new sessions again")
	}
	return fmt.Errorf("after %s %d sessions still work, so the server goes on; %s shows them", duration(time.Since(begun).Round(time.Second)), s.busy(), s.Command("ps"))
}

// busy returns how many sessions work, ask something, or are being opened or closed. The caller holds mu.
func (s *Server) busy() (n int) {
	for _, open := range s.sessions {
		if open.busy() {
			n++
		}
	}
	for a := range s.agents {
		for _, call := range a.calls {
			if call.session == nil && opens(call.method) {
				n++
			}
		}
	}
	return n
}

// busy reports whether the session works, asks something, or is being opened or closed.
func (o *session) busy() bool {
	return o.working || len(o.questions) > 0 || o.changing || o.loader != nil || o.agent.hasPendingRequest(o)
}

// await returns nil once done, which is called with the lock held, returns true, or the error of ctx.
func (s *Server) await(ctx context.Context, done func() bool) error {
	for {
		s.mu.Lock()
		over, changed := done(), s.changed
		s.mu.Unlock()
		if over {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// errDraining returns the error of a request that would open a session.
func errDraining() *jsonrpc.Error {
	return jsonrpc.InternalError("server_ends", "Not opened: this server ends when nothing works in it, and accepts no new sessions. Connect again, since a new server may have its place, or try again in a while; sessions that are open here can be joined.")
}

// notifyDrain wakes Drain when a session may have become idle. The caller holds mu.
func (s *Server) notifyDrain() {
	if s.drains > 0 {
		s.notifyChange()
	}
	if s.aside {
		s.dismissIdle()
	}
}
