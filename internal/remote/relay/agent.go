package relay

import (
	"cmp"
	"encoding/json"

	"droid-acp/internal/acp/protocol"
)

// Command formats a command of this program as it can be typed where its text is read, in the quotes that mark commands. A command for a
// server names the server if needed.
type Command func(words ...string) string

// Agent describes the agent at the other end. The zero value is an agent of which only ACP itself is known.
type Agent struct {
	Name         string // of its program, and in its agentInfo
	HistoryOwner string // who stores the whole conversation, for a sentence
	Provider     string // the ID of the provider that a client can set; "" for none

	// Activity says that it reports which sessions work, by protocol.ActivityMethod. Sessions of any other agent work while a prompt is
	// unanswered.
	Activity bool

	// Client returns what a client supports, from what it declares in initialize. If it is nil, a client supports what it declares.
	Client func(capabilities, info json.RawMessage) protocol.ClientCapabilities

	// ReadMethods are its own methods that change nothing, which clients may call that only watch. CommandPrefixes are characters besides "/"
	// with which a prompt begins that is a command.
	ReadMethods     []string
	CommandPrefixes string

	// PathFields lists the paths in the agent's own methods, as in paths.ParsePathFields; for a result the method has the suffix ".result".
	PathFields map[string]string
}

// DisplayName returns its name for a sentence.
func (a Agent) DisplayName() string { return cmp.Or(a.Name, "the agent") }

// HistoryOwnerName returns HistoryOwner for a sentence.
func (a Agent) HistoryOwnerName() string { return cmp.Or(a.HistoryOwner, "the agent") }

// ParseClient returns the capabilities of a client from what it declares.
func (a Agent) ParseClient(capabilities, info json.RawMessage) protocol.ClientCapabilities {
	if a.Client == nil {
		return protocol.ParseDeclared(capabilities)
	}
	return a.Client(capabilities, info)
}
