package protocol

import (
	"encoding/json"
	"strings"
)

// ClientTraits are what is known of how a client shows what it is sent, each with what it protects
// from where it is missing, or where it is there.
type ClientTraits struct {
	// OptionNames: it is known to show what the options of a permission request are called, and to pick by
	// that. Without it one key of a client that acts on kinds would give away more than its user saw.
	OptionNames bool
	// AtItsWord: it has a name, and no more is known of it. It is taken to show what ACP has it show, but is
	// given no two options of a kind that allow different things.
	AtItsWord bool
	// OptionKinds: it is known to show of an option no more than its kind, as Accept or Reject.
	OptionKinds    bool
	RequestContent bool // shows the content of a permission request; else the user would decide by a title
	CallContent    bool // shows the content of a call that waits for permission: it need not be a message, too
	CallDiffs      bool // shows the diffs of a call that waits, and those of a request after a key alone
	OneDiff        bool // shows the diff of a request that begins with one: it need not be a message, too
	NoDiffs        bool // shows no diff of a call that waits: a file would be changed unseen
	NoResults      bool // shows nothing of how a call ended but that: nobody would see why an edit failed
	StatusEach     bool // takes a call for completed when an update of it does not say how it stands
	OwnCommand     bool // shows the command in the input of a call by itself: it would stand there twice
	CommandTitle   bool // shows the title of a command whole: in the content of a request it would stand there twice
	SafeFiles      bool // its fs methods are known to have unsaved text, and to damage no file: else files stay on the disk
	TellsUnsaved   bool // though files stay on the disk: its fs/read_text_file has unsaved text, and asks nobody
	MindsTimes     bool // asks its user when a file's time is not the one that it saw last
	FirstTitle     bool // keeps the first title of a call, which would say nothing
	ForgetsCalls   bool // forgets the calls of a turn when that is over: what is told of one later stands without a title
	StoppedAgain   bool // sends a prompt that its user stopped once more, before the next one, which would do it again
	ErrorMessage   bool // shows the message of an error, and not its details
	ErrorDetails   bool // shows the details of an error, and not its message
	PromptDetails  bool // does that with an error that ends a prompt; of others it shows the data as JSON
	NoPromptErrors bool // takes an error that ends a prompt for an agent that did not start
	PromptsAlone   bool // shows nothing that it is told while no prompt runs, or no longer once the next one was answered
	ErrorBehind    bool // puts an error that ends a prompt behind what was said last, in that line
	DropsOutside   bool // drops what it is told and asked while no prompt of its own runs: its user would wait for ever
	OwnPrompts     bool // shows messages of the user's while it loads a session alone: those of another client it passes over, or takes for an error
	NoUserMessages bool // shows no message of the user's that it is told, as of a session that it loads
	ByPolicy       bool // answers permission requests by a policy: nobody reads them
	MarkdownTitles bool // draws the titles of calls as Markdown, but for commands and edits: `__init__` would lose its underscores
	OneLineFields  bool // gives each text field of a form one line: a plan could not be edited there
	NarrowOptions  bool // gives each option a field of its own, in little room
	Login          bool // offers a login when a prompt fails for want of one
}

// ShowsNames reports whether the client shows what options are called, as far as one knows.
func (t ClientTraits) ShowsNames() bool { return t.OptionNames || t.AtItsWord }

// What the user may say that their client shows of a permission request; the zero value says nothing.
const (
	ShowsTitle   = "title"   // and may pick by the kind of an option
	ShowsContent = "content" // and may pick by the kind of an option
	ShowsNames   = "names"   // and the content
)

// Showing is the client where the user says what it shows. They know better.
func (c ClientCapabilities) Showing(what string) ClientCapabilities {
	if what != "" {
		c.AtItsWord, c.OptionNames, c.OptionKinds, c.RequestContent = false, what == ShowsNames, what != ShowsNames, what != ShowsTitle
	}
	return c
}

// knownClients are the clients of which that is known, by the name they give
// themselves in clientInfo; a name that ends with a dot is the beginning of several. Seen on the screen: with droid 0.225.2, autumn 2026.
// Read: in the client's source, as of then.
var knownClients = map[string]ClientTraits{
	// Zed, read: crates/agent_servers/src/acp.rs and its acp_thread. The request
	// is merged into the entry of the call. Titles: ToolCall::from_acp and update_fields in acp_thread.rs, which
	// escape those of edits themselves. Fields: ElicitationFormState::new in
	// crates/agent_ui/src/conversation_view/elicitation.rs, whatever the schema says. Commands: render_collapsible_command of
	// its ThreadView, which wraps them.
	"zed": {SafeFiles: true, CommandTitle: true, OptionNames: true, RequestContent: true, PromptDetails: true, Login: true, MarkdownTitles: true, OneLineFields: true},
	// agent-shell 0.74.3 (Emacs), seen; name read in agent-shell.el. A diff in the
	// request alone is seen only after a key.
	// Another window's prompt is to it an "ACP server bug" (seen). Calls: seen; the handler of a prompt's end empties
	// :tool-calls (read).
	"agent-shell": {SafeFiles: true, OwnPrompts: true, ForgetsCalls: true, OptionNames: true, RequestContent: true, CallDiffs: true, OwnCommand: true, MindsTimes: true, ErrorMessage: true},
	// Toad 0.6.18, seen; name read in src/toad/__init__.py. Its keys for a kind
	// pick the first option of it. Its fs methods are the disk's; a file that it cannot
	// read is "" (read). After a prompt's error it tells the user to install the agent
	// (src/toad/acp/agent.py).
	"toad": {OptionNames: true, RequestContent: true, ErrorDetails: true, NoPromptErrors: true},
	// Qt Creator 20.0.2, seen; name read in src/plugins/acpclient/acpchatcontroller.cpp.
	// A call that waits is folded twice, and a request shows its title. Its fs methods
	// are the disk's (read).
	"QtCreator": {OptionNames: true, NoDiffs: true, ErrorMessage: true},
	// acp-ui 0.1.15, seen; name read in src/stores/session.ts.
	"acp-ui": {OptionNames: true, NoDiffs: true},
	// vscode-acp 0.2.0, seen; name read in src/core/ConnectionManager.ts. It
	// writes to the disk beside a document with unsaved changes, and reads what the document has (read in
	// src/handlers/FileSystemHandler.ts).
	// The next answer stands in place of what came while no prompt runs, and below its prompt once more (seen). Of a call it
	// shows title and status, which is "completed" to it in an update that has none (seen; read in
	// src/ui/ChatWebviewProvider.ts).
	"vscode-acp-client": {StatusEach: true, NoResults: true, PromptsAlone: true, OptionNames: true, NoDiffs: true, TellsUnsaved: true, ErrorMessage: true, NarrowOptions: true},
	// agentic.nvim of November 2025, seen; name read in lua/agentic/acp/acp_client.lua,
	// where it stands among the capabilities. Of a diff it shows the path. It writes to
	// the disk beside a buffer with unsaved changes, and its reads lose a file's last
	// newline (seen).
	"Agentic.nvim": {OptionNames: true, CallContent: true, NoDiffs: true, FirstTitle: true},
	// mitto 0.3.0, seen; name read in internal/web/shared_acp_process.go. Its
	// fs methods are the disk's (read).
	"mitto": {OptionNames: true, NoDiffs: true, FirstTitle: true},
	// acpx 0.19.1, read: takes the first option of a kind by policy; seen: it shows
	// nothing of a call that waits but its title. It asks its user, or refuses, at each
	// fs request as well (read).
	"acpx": {ByPolicy: true, ErrorDetails: true},
	// This program's own smoke test: takes the first option of a kind by policy.
	"droid-acp smoke": {ByPolicy: true, RequestContent: true, ErrorDetails: true},
	// This program's "attach", which joins in a terminal, by number.
	"droid-acp attach": {OptionNames: true, RequestContent: true},
	// CodeCompanion 9.9.1 (Neovim), seen, and read in
	// lua/codecompanion/interactions/chat/acp/request_permission.lua: of several
	// options of a kind its key takes the last. It holds back calls that wait. Each write
	// into an open buffer adds an empty line at the end, and replaces what was unsaved
	// there (seen). What its user stopped stands before the next prompt, block by block (19.22, seen twice; read in
	// Chat:done). An update while no prompt runs goes nowhere (read in lua/codecompanion/acp/init.lua). The fence
	// of an error begins on the line of a message before it (seen; read in acp/handler.lua). It gives no answer to a
	// permission request while no prompt runs (seen with 19.22). Of a call that has ended it shows kind and file (seen; read
	// in acp/formatters.lua); what is told of it later, as one more call without a title (seen; read in process_tool_call).
	"CodeCompanion.nvim": {NoResults: true, OptionKinds: true, DropsOutside: true, OwnPrompts: true, PromptsAlone: true, ErrorBehind: true, OneDiff: true, StoppedAgain: true, ErrorMessage: true},
	// avante (Neovim) does the same and gives itself no name.

	// JetBrains' editors, each with its own name behind the dot and a member "type" beside it: read in a
	// public log, not run.
	"JetBrains.": unknown,
}

// unknown is a client that gives itself a name of which nothing else is known.
var unknown = ClientTraits{AtItsWord: true, RequestContent: true}

// nameless are clients that give themselves no name, avante among them, whose fs methods
// lose last newlines, and do not answer while a buffer has unsaved changes (seen). What such a client
// shows of an error is not known: all that there is, is in the message. avante ends a message where a prompt is sent
// alone, and leaves out the user's of a session that it loads (seen; read in lua/avante/llm.lua).
var nameless = ClientTraits{ErrorMessage: true, NoUserMessages: true}

// readTraits are the traits of the client that sent this clientInfo, or has it
// among its capabilities.
func readTraits(info, capabilities json.RawMessage) ClientTraits {
	for _, raw := range []json.RawMessage{info, Fields(capabilities)["clientInfo"]} {
		var name string
		if json.Unmarshal(Fields(raw)["name"], &name) == nil && name != "" {
			return traitsOf(name)
		}
	}
	return nameless
}

func traitsOf(name string) ClientTraits {
	family, _, _ := strings.Cut(name, ".")
	for _, known := range []string{name, family + "."} {
		if traits, ok := knownClients[known]; ok {
			return traits
		}
	}
	return unknown
}
