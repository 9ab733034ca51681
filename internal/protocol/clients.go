package protocol

import "encoding/json"

// ClientTraits are what is known of how a client shows what it is sent. What is
// not known counts as not done: an unknown client is taken for one that acts on
// the kind of an option and shows the title of a call alone.
type ClientTraits struct {
	OptionNames    bool // shows what the options of a permission request are called, and picks by that
	RequestContent bool // shows the content of a permission request
	CallContent    bool // shows the content of a call that waits for permission
	CallDiffs      bool // shows the diffs of a call that waits, besides the content of the request
	OneDiff        bool // shows the diff of a request that begins with one
	NoDiffs        bool // shows no diff of a call that waits for permission
	OwnCommand     bool // shows the command in the input of a call by itself
	FilesOnDisk    bool // its fs methods may damage files, ask the user again, or know no more than the disk
	MindsTimes     bool // asks its user when a file's time is not the one that it saw last
	FirstTitle     bool // keeps the first title of a call
	ErrorMessage   bool // shows the message of an error, and not its details
	ErrorDetails   bool // shows the details of an error, and not its message
	PromptDetails  bool // does that with an error that ends a prompt; of others it shows the data as JSON
	NoPromptErrors bool // takes an error that ends a prompt for an agent that did not start
	NarrowOptions  bool // gives each option a field of its own, in little room
	Login          bool // offers a login when a prompt fails for want of one
}

// knownClients are the clients of which that is known, by the name they give
// themselves in clientInfo. Seen on the screen: with droid 0.225.2, autumn 2026.
// Read: in the client's source, as of then.
var knownClients = map[string]ClientTraits{
	// Zed, read: crates/agent_servers/src/acp.rs and its acp_thread. The request
	// is merged into the entry of the call.
	"zed": {OptionNames: true, RequestContent: true, PromptDetails: true, Login: true},
	// agent-shell 0.74.3 (Emacs), seen; name read in agent-shell.el. A diff in the
	// request alone is seen only after a key.
	"agent-shell": {OptionNames: true, RequestContent: true, CallDiffs: true, OwnCommand: true, MindsTimes: true, ErrorMessage: true},
	// Toad 0.6.18, seen; name read in src/toad/__init__.py. Its keys for a kind
	// pick the first option of it. Its fs methods are the disk's; a file that it cannot
	// read is "" (read). After a prompt's error it tells the user to install the agent
	// (src/toad/acp/agent.py).
	"toad": {OptionNames: true, RequestContent: true, FilesOnDisk: true, ErrorDetails: true, NoPromptErrors: true},
	// Qt Creator 20.0.2, seen; name read in src/plugins/acpclient/acpchatcontroller.cpp.
	// A call that waits is folded twice, and a request shows its title. Its fs methods
	// are the disk's (read).
	"QtCreator": {OptionNames: true, NoDiffs: true, FilesOnDisk: true, ErrorMessage: true},
	// acp-ui 0.1.15, seen; name read in src/stores/session.ts.
	"acp-ui": {OptionNames: true, NoDiffs: true},
	// vscode-acp 0.2.0, seen; name read in src/core/ConnectionManager.ts. It
	// writes to the disk beside a document with unsaved changes (read).
	"vscode-acp-client": {OptionNames: true, NoDiffs: true, FilesOnDisk: true, ErrorMessage: true, NarrowOptions: true},
	// agentic.nvim of November 2025, seen; name read in lua/agentic/acp/acp_client.lua,
	// where it stands among the capabilities. Of a diff it shows the path. It writes to
	// the disk beside a buffer with unsaved changes, and its reads lose a file's last
	// newline (seen).
	"Agentic.nvim": {OptionNames: true, CallContent: true, NoDiffs: true, FirstTitle: true, FilesOnDisk: true},
	// mitto 0.3.0, seen; name read in internal/web/shared_acp_process.go. Its
	// fs methods are the disk's (read).
	"mitto": {OptionNames: true, NoDiffs: true, FirstTitle: true, FilesOnDisk: true},
	// acpx 0.19.1, read: takes the first option of a kind by policy; seen: it shows
	// nothing of a call that waits but its title. It asks its user, or refuses, at each
	// fs request as well (read).
	"acpx": {FilesOnDisk: true},
	// This program's own smoke test: takes the first option of a kind by policy.
	"droid-acp smoke": {RequestContent: true, ErrorDetails: true},
	// CodeCompanion 9.9.1 (Neovim), seen, and read in
	// lua/codecompanion/interactions/chat/acp/request_permission.lua: of several
	// options of a kind its key takes the last. It holds back calls that wait. Each write
	// into an open buffer adds an empty line at the end, and replaces what was unsaved
	// there (seen).
	"CodeCompanion.nvim": {OneDiff: true, FilesOnDisk: true, ErrorMessage: true},
	// avante (Neovim) does the same and gives itself no name.
}

// nameless are clients that give themselves no name, avante among them, whose fs methods
// lose last newlines, and do not answer while a buffer has unsaved changes (seen). What such a client
// shows of an error is not known: all that there is, is in the message.
var nameless = ClientTraits{FilesOnDisk: true, ErrorMessage: true}

// ReadTraits are the traits of the client that sent this clientInfo, or has it
// among its capabilities.
func ReadTraits(info, capabilities json.RawMessage) ClientTraits {
	for _, raw := range []json.RawMessage{info, Fields(capabilities)["clientInfo"]} {
		var name string
		if json.Unmarshal(Fields(raw)["name"], &name) == nil && name != "" {
			return knownClients[name]
		}
	}
	return nameless
}
