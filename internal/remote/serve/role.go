package serve

import (
	"encoding/json"
	"slices"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/visible"
)

// Role is a set of rights of a client. A client with any right may join sessions that are open and read them. The zero value has none.
type Role uint8

const (
	// Watch is the right to join open sessions and to read them.
	Watch Role = 1 << iota
	// Answer is the right to answer what a person is asked, and to cancel a turn.
	Answer
	// Prompt is the right to send prompts that are no commands, and to cancel a turn.
	Prompt
	// Full is the right to everything, such as opening sessions.
	Full
)

// roles are the names of the rights.
var roles = []struct {
	name string
	role Role
}{{"full", Full}, {"answer", Answer}, {"prompt", Prompt}, {"watch", Watch}}

// ParseRole returns the role with a name, or with several that are separated by commas.
func ParseRole(text string) (r Role, ok bool) {
	for name := range strings.SplitSeq(text, ",") {
		i := slices.IndexFunc(roles, func(row struct {
			name string
			role Role
		}) bool {
			return row.name == name
		})
		if i < 0 {
			return 0, false
		}
		r |= roles[i].role
	}
	return r, true
}

// Includes reports whether a client with a role may do what one with another role may.
func (r Role) Includes(other Role) bool { return r&Full != 0 || r != 0 && other&^(r|Watch) == 0 }

func (r Role) String() string {
	var names []string
	for _, row := range roles {
		if r&row.role != 0 {
			names = append(names, row.name)
		}
	}
	return strings.Join(names, ",")
}

// limitedMethods are the methods of ACP that a client without Full may call, each with the rights of which it needs one. It calls
// initialize once, before it has a role. Any other method needs Full.
var limitedMethods = map[string]Role{
	"session/list":          Watch | Answer | Prompt,
	"session/status":        Watch | Answer | Prompt,
	"session/load":          Watch | Answer | Prompt, // of an open session
	"session/resume":        Watch | Answer | Prompt, // the same
	"session/close":         Watch | Answer | Prompt, // which only leaves it
	"session/cancel":        Answer | Prompt,
	"session/prompt":        Prompt,
	protocol.SteeringMethod: Prompt,
}

// MayCall reports whether clients with a role may call a method.
func (o Options) MayCall(r Role, method string) bool {
	return r&Full != 0 || r&limitedMethods[method] != 0 || r != 0 && slices.Contains(o.Agent.ReadMethods, method)
}

// has reports whether the client has one of these rights, or all.
func (c *Client) has(r Role) bool { return c.role&(r|Full) != 0 }

// joinsOnly reports whether the client opens only sessions that an agent has open, and gets no agent.
func (c *Client) joinsOnly() bool { return c.attachParams.Joins || !c.has(Full) }

// forbids returns why the client's role does not allow a message, "" if it does.
func (c *Client) forbids(line []byte, h jsonrpc.Head) string {
	switch {
	case c.has(Full):
		return ""
	case c.server.MayCall(c.role, h.Method) && (h.ID != nil || h.Method == "session/cancel"):
		if h.Method == "session/prompt" || h.Method == protocol.SteeringMethod {
			return c.forbidsPrompt(paramsOf(line, h))
		}
		return ""
	case c.attachParams.WatchOnly:
		return "this client only watches"
	}
	return "the token of this client has the role " + c.role.String() + ", which does not allow " + shortLine(h.Method)
}

// forbidsPrompt returns why the client may not send a prompt. A command may change the mode or run something, so no text may look like
// one, wherever it stands: an agent omits blocks that it has got before.
func (c *Client) forbidsPrompt(params []byte) string {
	var p struct{ Prompt []struct{ Type, Text string } }
	if json.Unmarshal(params, &p) != nil {
		return "the prompt cannot be read"
	}
	for _, block := range p.Prompt {
		if text := strings.TrimSpace(block.Text); text != "" && strings.Contains("/"+c.server.Agent.CommandPrefixes, text[:1]) {
			return "the token of this client has the role " + c.role.String() + ", which does not allow commands: a prompt may not begin with " + visible.Line(text[:1])
		}
	}
	return ""
}

// forbidden refuses and logs a message that the client's role does not allow, and reports whether it did.
func (c *Client) forbidden(line []byte, h jsonrpc.Head) bool {
	reason := c.forbids(line, h)
	if reason == "" {
		return false
	}
	c.logRefusal(h.Method, textAt(paramsOf(line, h), "sessionId"), reason)
	c.reply(h, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Not done", reason))
	return true
}
