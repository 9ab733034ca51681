package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

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

// kind identifies what was set, "" for nothing. It has no keys.
func (p providerRequest) kind() string {
	if !p.isSet() {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(p.method+canonical(p.params))))
}

// providerChange returns what a request makes the provider of the client. ok is false for a request that changes none.
func (c *Client) providerChange(line []byte, h jsonrpc.Head) (p providerRequest, ok bool) {
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

// changeProvider forwards a request that changes the provider of the client. The agents of clients with different providers are different
// ones: if others use the client's agent, too, it gets another one, unless it has sessions open there, which stay where they are.
func (c *Client) changeProvider(line []byte, h jsonrpc.Head, next providerRequest) {
	before := c.set
	if c.changes == 0 {
		c.confirmed = before
	}
	if a := c.agent; a != nil && !a.ending && !a.isOnlyFor(c) {
		if a.hasSessionOf(c) && next.kind() != c.provider {
			c.logRefusal(h.Method, "", "another client uses the agent, too")
			c.refuse(h.ID, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Not done", "another window uses the agent of this window's sessions, and would get this provider, too; close the sessions in this window first, or the other window"))
			return
		}
		if next.kind() != c.provider {
			c.leaveAgent()
		}
	}
	c.set, c.provider = providerRequest{}, next.kind() // an agent that starts now gets it by this request
	if c.agent != nil && !c.agent.ending {
		c.agent.provider = c.provider
	}
	if full := c.overCap(h.Method, nil); full != nil {
		c.set, c.provider = before, before.kind()
		c.logRefusal(h.Method, "", full.Message)
		c.refuse(h.ID, full)
		return
	}
	a := c.sessionAgent(nil)
	c.set = next
	c.changes++
	c.forward(a, line, h, nil).done = func(_ []byte, err error) {
		c.changes--
		if err == nil {
			c.confirmed = next
		}
		if c.changes > 0 || c.set.kind() == c.confirmed.kind() {
			return // the last change decides
		}
		c.set, c.provider = c.confirmed, c.confirmed.kind()
		if a.isOnlyFor(c) && c.agent == a {
			a.provider = c.provider // it has what it had
		} else {
			c.leaveAgent()
		}
	}
}

// isOnlyFor reports whether no other client uses the agent, or has left a session in it.
func (a *agent) isOnlyFor(c *Client) bool {
	for _, open := range a.server.sessions {
		if open.agent == a && open.subscriber(c) == nil && open.loader != c || open.agent == a && len(open.subscribers) > 1 {
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
	return c.provider != "" && o.agent.provider != c.provider
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
