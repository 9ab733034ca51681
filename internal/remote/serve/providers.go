package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
)

// providerRequest is the request by which a client set its provider. It holds keys: it is never written, and goes to the client's agents
// alone.
type providerRequest struct {
	method string
	params json.RawMessage
}

// isSet reports whether a provider was set.
func (p providerRequest) isSet() bool { return p.method != "" }

// provider is the provider of a client, or of an agent.
type provider struct {
	set       providerRequest // as it was requested last
	confirmed providerRequest // as an agent has made it last
	changes   int             // that are not answered
}

// kind identifies what was set, "" for nothing. It has no keys.
func (p *provider) kind() string { return p.set.kind() }

func (p providerRequest) kind() string {
	if !p.isSet() {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(p.method+canonical(p.params))))
}

// beginChange records that a change was requested.
func (p *provider) beginChange(next providerRequest) {
	p.set = next
	p.changes++
}

// endChange records that a change was made, or was refused. Once all are answered, the last one that was made counts.
func (p *provider) endChange(next providerRequest, made bool) {
	p.changes--
	if made {
		p.confirmed = next
	}
	if p.changes == 0 {
		p.set = p.confirmed
	}
}

// nextProvider returns what a request makes the provider of the client. ok is false for a request that changes none.
func (c *Client) nextProvider(line []byte, h jsonrpc.Head) (p providerRequest, ok bool) {
	params := paramsOf(line, h)
	switch h.Method {
	case protocol.MethodProvidersSet:
		return providerRequest{h.Method, bytes.Clone(params)}, true
	case "authenticate":
		if _, ok := protocol.GatewayOf(params); ok {
			return providerRequest{h.Method, bytes.Clone(params)}, true
		}
		return p, false
	case protocol.MethodProvidersDisable:
		return p, textAt(params, "providerId") == c.server.Agent.Provider
	case protocol.MethodLogout:
		return p, true
	}
	return p, false
}

// providerChange is a request of a client that changes its provider. The client's own agent gets it, and all that have a session of the
// client.
type providerChange struct {
	client  *Client
	next    providerRequest
	decider *agent          // whose answer the client gets
	made    map[*agent]bool // the agents that have answered; whether they have made it
	answer  func()          // passes on the decider's answer; nil until it has come
	left    int             // the agents that have not answered
}

// changeProvider forwards a request that changes the provider of the client. The agents of clients with different providers are different
// ones: if others use the client's agent, too, it gets another one, unless it has sessions open there, which stay where they are.
func (c *Client) changeProvider(line []byte, h jsonrpc.Head, next providerRequest) {
	if a := c.agent; a != nil && a.provider.kind() != next.kind() && !a.hasSessionOf(c) && !a.isOnlyFor(c) {
		c.leaveAgent()
	}
	agents := c.providerAgents()
	for _, a := range agents {
		if a.provider.kind() != next.kind() && !a.isOnlyFor(c) {
			c.logRefusal(h.Method, "", "the agent of a session is used elsewhere, too")
			c.refuse(h.ID, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Not done", "another window uses the agent of this window's sessions, or a turn runs there that no window shows, and the provider "+
				"would change there, too; close the sessions in this window first, or the other window, or stop that turn"))
			return
		}
	}
	before := c.provider
	c.provider.beginChange(next)
	if len(agents) == 0 {
		if full := c.overCap(h.Method, nil); full != nil {
			c.provider = before
			c.logRefusal(h.Method, "", full.Message)
			c.refuse(h.ID, full)
			return
		}
		a, started := c.findOrStartAgent(nil)
		if started {
			a.provider = provider{} // it gets its first one by this request
		}
		agents = append(agents, a)
	}
	change := &providerChange{client: c, next: next, decider: agents[0], made: map[*agent]bool{}, left: len(agents)}
	for _, a := range agents {
		a.provider.beginChange(next)
		c.forward(a, line, h, nil).change = change
	}
}

// providerAgents returns the agents that get a change of the client's provider, its own one first.
func (c *Client) providerAgents() (agents []*agent) {
	for a := range c.server.agents {
		if !a.ending && (a == c.agent || a.hasSessionOf(c)) {
			agents = append(agents, a)
		}
	}
	slices.SortFunc(agents, func(a, b *agent) int {
		switch c.agent {
		case a:
			return -1
		case b:
			return 1
		}
		return a.number - b.number
	})
	return agents
}

// answered takes an agent's answer to the change, or its end. Once all agents have answered, the client gets the decider's answer. An agent
// that has done otherwise has another provider than the client reads, so it is ended.
func (p *providerChange) answered(a *agent, made bool, answer func()) {
	a.provider.endChange(p.next, made)
	p.made[a] = made
	p.left--
	if a == p.decider {
		p.answer = answer
	}
	if p.left > 0 {
		return
	}
	c := p.client
	c.provider.endChange(p.next, p.made[p.decider])
	for a, made := range p.made {
		if made != p.made[p.decider] && !a.ending {
			a.endForProvider()
		}
	}
	if c.agent != nil && c.agent.provider.kind() != c.provider.kind() {
		c.leaveAgent()
	}
	p.answer()
}

// endForProvider ends an agent that has another provider than a client of its sessions.
func (a *agent) endForProvider() {
	a.server.Log.Warn("an agent is ended that has another provider than its client", zap.Int("agent", a.pid()))
	for _, open := range a.server.sessions {
		if open.agent == a {
			open.broadcastText("The agent of this session was ended, since it has another provider than this window. Open the session again to go on.", nil)
		}
	}
	a.end()
}

// isOnlyFor reports whether nothing of the agent is in use by another client, or works with no client. A session that is idle, and that no
// client has open, is not in use.
func (a *agent) isOnlyFor(c *Client) bool {
	for _, open := range a.server.sessions {
		used := len(open.subscribers) > 0 || open.loader != nil || open.working
		own := open.subscriber(c) != nil || open.loader == c
		if open.agent == a && (used && !own || len(open.subscribers) > 1) {
			return false
		}
	}
	return !slices.ContainsFunc(a.clients, func(other *Client) bool { return other != c })
}

// hasSessionOf reports whether the client has a session open in the agent.
func (a *agent) hasSessionOf(c *Client) bool {
	for _, open := range a.server.sessions {
		if open.agent == a && (open.subscriber(c) != nil || open.loader == c) {
			return true
		}
	}
	return false
}

// leaveAgent makes the client open no more sessions in its agent.
func (c *Client) leaveAgent() {
	if a := c.agent; a != nil {
		c.agent = nil
		a.clients = slices.DeleteFunc(a.clients, func(other *Client) bool { return other == c })
		a.endIfUnused()
	}
}

// setProvider gives an agent that was just started the client's provider. An agent that does not take it must not open sessions, whose
// prompts would go elsewhere.
func (a *agent) setProvider(p providerRequest) {
	if !p.isSet() {
		return
	}
	a.ask(p.method, p.params, func(_ []byte, err error) {
		if err != nil && !a.ending {
			a.server.Log.Warn("an agent did not take the provider of its client")
			a.end()
		}
	})
}

// otherProvider reports whether the client has set a provider, and the agent of a session has not the same.
func (c *Client) otherProvider(o *session) bool {
	return c.provider.set.isSet() && o.agent.provider.kind() != c.provider.kind()
}

// reopenElsewhere has a session closed that is idle and open for no other client, so that the client opens it in an agent with its own
// provider. Otherwise it refuses.
func (c *Client) reopenElsewhere(open *session, alone bool, line []byte, h jsonrpc.Head) {
	if !alone || open.working {
		c.logRefusal(h.Method, open.id, "its agent has another provider")
		c.refuse(h.ID, jsonrpc.PlainError(jsonrpc.CodeInvalidParams, "The session cannot be opened: its agent has not the provider that this window has set, and something runs in it or another window has it open; "+
			"close it there, or end it by "+c.server.Command("stop", open.id)+", then open it here"))
		return
	}
	open.later = append(open.later, c.deferred(line))
	open.close()
}
