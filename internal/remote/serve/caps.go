package serve

import (
	"fmt"

	"droid-acp/internal/jsonrpc"
)

// overCap returns the error of a request that would exceed a cap of the server, or would open a session in one that drains; nil otherwise.
// but is as for sessionAgent.
func (c *Client) overCap(method string, but *agent) *jsonrpc.Error {
	s := c.server
	if s.drains > 0 && opens(method) {
		return errDraining()
	}
	if most := s.MaxSessions; most > 0 && c.options.Token != "" && opens(method) && s.sessionsOf(c.options.Token) >= most {
		return jsonrpc.InternalError("server_full", fmt.Sprintf("Not opened: the token %s has %d sessions open, and the server allows it no more. Close one, or have --max-sessions raised.", c.options.Token, most))
	}
	if most := s.MaxAgents; most > 0 && c.findAgent(but) == nil && s.agentCount() >= most {
		return jsonrpc.InternalError("server_full", fmt.Sprintf("Not opened: the server runs %d agents, and is allowed no more. Close a session, or have --max-agents raised.", most))
	}
	if most := s.MaxMemory; most > 0 && opens(method) && s.memory >= most {
		return jsonrpc.InternalError("server_full", fmt.Sprintf("Not opened: the agents use %d MiB of memory, and the server opens no session from %d MiB on. Close a session, or have --max-memory raised.", s.memory>>20, most>>20))
	}
	return nil
}

// measureMemory measures the memory of the agents for overCap. It releases the lock meanwhile.
func (s *Server) measureMemory() error {
	if s.Memory == nil {
		return nil
	}
	var processes []int
	for a := range s.agents {
		if !a.queryOnly && a.proc != nil {
			processes = append(processes, a.pid())
		}
	}
	s.mu.Unlock()
	used, err := s.Memory(processes)
	s.mu.Lock()
	if err == nil {
		s.memory = used
	}
	return err
}

// sessionsOf returns how many sessions were opened with a token, or are being opened.
func (s *Server) sessionsOf(token string) (n int) {
	for _, open := range s.sessions {
		if open.token == token {
			n++
		}
	}
	for a := range s.agents {
		for _, call := range a.calls {
			if call.client != nil && call.client.options.Token == token && call.session == nil && opens(call.method) {
				n++
			}
		}
	}
	return n
}

// agentCount returns how many agents run that open sessions.
func (s *Server) agentCount() (n int) {
	for a := range s.agents {
		if !a.queryOnly {
			n++
		}
	}
	return n
}
