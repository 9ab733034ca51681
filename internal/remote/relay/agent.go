package relay

import (
	"cmp"
	"encoding/json"

	"droid-acp/internal/acp/protocol"
)

// Command writes a command of this program as it can be typed where its text is read, in the quotes that mark commands. One
// for a server names that, where it has to be named.
type Command func(words ...string) string

// Agent is what is known of the agent at the other end. The zero value is one of which only that is known that ACP says.
type Agent struct {
	Name         string // of its program, and what it calls itself in agentInfo
	HistoryOwner string // who keeps all that was said in a session, in words

	// Activity says that it reports which sessions work, by protocol.ActivityMethod. Of any other agent a session works while a prompt
	// has no answer.
	Activity bool

	// Client is who a client is and what it shows, by what it declares with initialize. nil takes each at its word.
	Client func(capabilities, info json.RawMessage) protocol.ClientCapabilities

	// PathFields are those of paths in methods of its own, as in paths.ParsePathFields, that of a result with ".result" behind the method.
	PathFields map[string]string
}

// DisplayName is its name in a sentence.
func (a Agent) DisplayName() string { return cmp.Or(a.Name, "the agent") }

// HistoryOwnerName is HistoryOwner in a sentence.
func (a Agent) HistoryOwnerName() string { return cmp.Or(a.HistoryOwner, "the agent") }

// ParseClient reads what a client declares.
func (a Agent) ParseClient(capabilities, info json.RawMessage) protocol.ClientCapabilities {
	if a.Client == nil {
		return protocol.ParseDeclared(capabilities)
	}
	return a.Client(capabilities, info)
}
