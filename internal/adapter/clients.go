package adapter

import "encoding/json"

// clientTraits are what is known of how a client shows what it is sent. What is
// not known counts as not done: an unknown client is taken for one that acts on
// the kind of an option and shows the title of a call alone.
type clientTraits struct {
	optionNames    bool // shows what the options of a permission request are called, and picks by that
	requestContent bool // shows the content of a permission request
	callContent    bool // shows the content of a call that waits for permission
	callDiffs      bool // shows the diffs of a call that waits, besides the content of the request
	oneDiff        bool // shows the diff of a request that begins with one
	noDiffs        bool // shows no diff of a call that waits for permission
	ownCommand     bool // shows the command in the input of a call by itself
	firstTitle     bool // keeps the first title of a call
}

// knownClients are the clients of which that is known, by the name they give
// themselves in clientInfo. Seen on the screen: with droid 0.225.2, autumn 2026.
// Read: in the client's source, as of then.
var knownClients = map[string]clientTraits{
	// Zed, read: crates/agent_servers/src/acp.rs and its acp_thread. The request
	// is merged into the entry of the call.
	"zed": {optionNames: true, requestContent: true},
	// agent-shell 0.74.3 (Emacs), seen; name read in agent-shell.el. A diff in the
	// request alone is seen only after a key.
	"agent-shell": {optionNames: true, requestContent: true, callDiffs: true, ownCommand: true},
	// Toad 0.6.18, seen; name read in src/toad/__init__.py. Its keys for a kind
	// pick the first option of it.
	"toad": {optionNames: true, requestContent: true},
	// Qt Creator 20, seen; name read in src/plugins/acpclient/acpchatcontroller.cpp.
	"QtCreator": {optionNames: true, callContent: true},
	// acp-ui 0.1.15, seen; name read in src/stores/session.ts.
	"acp-ui": {optionNames: true, noDiffs: true},
	// vscode-acp 0.2.0, seen; name read in src/core/ConnectionManager.ts.
	"vscode-acp-client": {optionNames: true, noDiffs: true},
	// agentic.nvim of November 2025, seen; name read in lua/agentic/acp/acp_client.lua,
	// where it stands among the capabilities. Of a diff it shows the path.
	"Agentic.nvim": {optionNames: true, callContent: true, noDiffs: true, firstTitle: true},
	// mitto 0.3.0, seen; name read in internal/web/shared_acp_process.go.
	"mitto": {optionNames: true, noDiffs: true, firstTitle: true},
	// acpx 0.19.1, read: takes the first option of a kind by policy; seen: it shows
	// nothing of a call that waits but its title.
	"acpx": {},
	// This program's own smoke test: takes the first option of a kind by policy.
	"droid-acp smoke": {requestContent: true},
	// CodeCompanion 9.9.1 (Neovim), seen, and read in
	// lua/codecompanion/interactions/chat/acp/request_permission.lua: of several
	// options of a kind its key takes the last. It holds back calls that wait.
	"CodeCompanion.nvim": {oneDiff: true},
	// avante (Neovim) does the same and gives itself no name.
}

// readTraits are the traits of the client that sent this clientInfo, or has it
// among its capabilities.
func readTraits(info, capabilities json.RawMessage) clientTraits {
	for _, raw := range []json.RawMessage{info, fields(capabilities)["clientInfo"]} {
		var name string
		if json.Unmarshal(fields(raw)["name"], &name) == nil && name != "" {
			return knownClients[name]
		}
	}
	return clientTraits{}
}
