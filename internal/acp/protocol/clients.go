package protocol

import (
	"encoding/json"
	"strings"
)

// ClientProfile holds known properties of a client. The comments say what each protects from.
type ClientProfile struct {
	// ShowsOptionNames: shows the names of the options of a permission request and selects by them. Without it, one key of a client that
	// acts on kinds could grant more than its user saw.
	ShowsOptionNames bool
	// AssumedCompliant: has a name, but is otherwise unknown. It is assumed to behave as ACP specifies, but never given two options of the
	// same kind that allow different things.
	AssumedCompliant bool
	// ShowsOptionKindsOnly: shows only the kind of an option, as Accept or Reject.
	ShowsOptionKindsOnly        bool
	ShowsRequestContent         bool // shows the content of a permission request; otherwise the user would decide by a title
	ShowsCallContent            bool // shows the content of a call that waits for permission, so no separate message is needed
	ShowsCallDiffs              bool // shows the diffs of a waiting call; those of a request only after a key press
	ShowsLeadingDiff            bool // renders a request's diff if it is the first content block, so no separate message is needed
	HidesWaitingDiffs           bool // shows no diff of a waiting call: a file would be changed unseen
	HidesResults                bool // shows only the status of a finished call: nobody would see why an edit failed
	RequiresStatus              bool // treats an update without a status as completed
	ShowsInputCommand           bool // shows the command from the raw input: it would appear twice
	ShowsWholeCommand           bool // shows a command's title in full: in the content of a request it would appear twice
	SafeFiles                   bool // its fs methods include unsaved text and do not damage files; otherwise files are accessed on disk
	ReadsUnsaved                bool // only without SafeFiles: its fs/read_text_file includes unsaved text without asking the user
	ChecksModTimes              bool // asks its user if the mtime of a file is not the one that it saw last
	KeepsFirstTitle             bool // keeps the first title of a call, which would be meaningless
	ForgetsCalls                bool // forgets tool calls at the end of a turn: later updates would have no title
	ResendsStoppedPrompt        bool // resends a prompt that its user stopped together with the next one, which would repeat it
	ErrorMessageOnly            bool // shows the message of an error but not its details
	ErrorDetailsOnly            bool // shows the details of an error but not its message
	PromptErrorDetailsOnly      bool // like ErrorDetailsOnly for errors that end a prompt; for others it shows the data as JSON
	MisreadsPromptErrors        bool // takes an error that ends a prompt for an agent that failed to start
	HidesUpdatesOutsidePrompt   bool // does not show updates outside a prompt, or loses them with the next response
	AppendsPromptErrors         bool // appends an error that ends a prompt to the last line of output
	IgnoresUpdatesOutsidePrompt bool // drops updates and requests outside its own prompts: its user would wait for ever
	RejectsForeignPrompts       bool // shows user messages only while loading a session: those of another client are ignored or taken for an error
	HidesUserMessages           bool // shows no user messages at all, not even of a loaded session
	AnswersByPolicy             bool // answers permission requests by a policy: nobody reads them
	RendersTitleMarkdown        bool // renders titles of calls as Markdown, except of commands and edits: `__init__` would lose its underscores
	SingleLineFields            bool // gives each text field of a form one line: a plan could not be edited there
	NarrowOptions               bool // gives each option its own narrow field
	OffersLogin                 bool // offers a login when a prompt fails with an authentication error
}

// MayShowOptionNames reports whether the client is known, or assumed, to show the names of options.
func (t ClientProfile) MayShowOptionNames() bool { return t.ShowsOptionNames || t.AssumedCompliant }

// Values of the user's setting for what the client shows of a permission request; "" leaves it undetermined.
const (
	ShowsTitle   = "title"   // may select by the kind of an option
	ShowsContent = "content" // may select by the kind of an option
	ShowsNames   = "names"   // and the content
)

// WithUserSetting returns the capabilities adjusted to the user's setting, which takes precedence.
func (c ClientCapabilities) WithUserSetting(what string) ClientCapabilities {
	if what != "" {
		c.AssumedCompliant, c.ShowsOptionNames, c.ShowsOptionKindsOnly, c.ShowsRequestContent = false, what == ShowsNames, what != ShowsNames, what != ShowsTitle
	}
	return c
}

// knownClients holds the known clients by their name in clientInfo; a name that ends with a dot is a prefix. "Seen" means on the screen
// with droid 0.225.2, autumn 2026; "read" means in the client's source of that time.
var knownClients = map[string]ClientProfile{
	// Zed, read: crates/agent_servers/src/acp.rs and its acp_thread. A request is merged into the entry of its call. Titles:
	// ToolCall::from_acp and update_fields in acp_thread.rs, which escape those of edits themselves. Fields: ElicitationFormState::new in
	// crates/agent_ui/src/conversation_view/elicitation.rs, whatever the schema says. Commands: render_collapsible_command of its
	// ThreadView wraps them.
	"zed": {SafeFiles: true, ShowsWholeCommand: true, ShowsOptionNames: true, ShowsRequestContent: true, PromptErrorDetailsOnly: true, OffersLogin: true, RendersTitleMarkdown: true, SingleLineFields: true},
	// agent-shell 0.74.3 (Emacs), seen; name read in agent-shell.el. It shows a diff that is only in the request after a key press. It
	// reports another window's prompt as an "ACP server bug" (seen). Calls: seen; the handler of a prompt's end empties :tool-calls (read).
	"agent-shell": {SafeFiles: true, RejectsForeignPrompts: true, ForgetsCalls: true, ShowsOptionNames: true, ShowsRequestContent: true, ShowsCallDiffs: true, ShowsInputCommand: true, ChecksModTimes: true, ErrorMessageOnly: true},
	// Toad 0.6.18, seen; name read in src/toad/__init__.py. Its keys for a kind select the first option of it. Its fs methods are the
	// disk's; an unreadable file is "" (read). After a prompt's error it advises to install the agent (src/toad/acp/agent.py).
	"toad": {ShowsOptionNames: true, ShowsRequestContent: true, ErrorDetailsOnly: true, MisreadsPromptErrors: true},
	// Qt Creator 20.0.2, seen; name read in src/plugins/acpclient/acpchatcontroller.cpp. A waiting call is folded twice, and a request
	// shows its title. Its fs methods are the disk's (read).
	"QtCreator": {ShowsOptionNames: true, HidesWaitingDiffs: true, ErrorMessageOnly: true},
	// acp-ui 0.1.15, seen; name read in src/stores/session.ts.
	"acp-ui": {ShowsOptionNames: true, HidesWaitingDiffs: true},
	// vscode-acp 0.2.0, seen; name read in src/core/ConnectionManager.ts. It writes to the disk despite a document with unsaved changes,
	// and reads the document (read in src/handlers/FileSystemHandler.ts). The next response replaces updates outside a prompt, and repeats
	// them below its prompt (seen). Of a call it shows title and status, which defaults to "completed" in updates (seen; read in
	// src/ui/ChatWebviewProvider.ts).
	"vscode-acp-client": {RequiresStatus: true, HidesResults: true, HidesUpdatesOutsidePrompt: true, ShowsOptionNames: true, HidesWaitingDiffs: true, ReadsUnsaved: true, ErrorMessageOnly: true, NarrowOptions: true},
	// agentic.nvim of November 2025, seen; name read in lua/agentic/acp/acp_client.lua, where it is among the capabilities. Of a diff it
	// shows the path. It writes to the disk despite a buffer with unsaved changes, and its reads lose a file's last newline (seen).
	"Agentic.nvim": {ShowsOptionNames: true, ShowsCallContent: true, HidesWaitingDiffs: true, KeepsFirstTitle: true},
	// mitto 0.3.0, seen; name read in internal/web/shared_acp_process.go. Its fs methods are the disk's (read).
	"mitto": {ShowsOptionNames: true, HidesWaitingDiffs: true, KeepsFirstTitle: true},
	// acpx 0.19.1, read: takes the first option of a kind by policy; seen: it shows only the title of a waiting call. It asks its user, or
	// refuses, for each fs request as well (read).
	"acpx": {AnswersByPolicy: true, ErrorDetailsOnly: true},
	// This program's own smoke test: takes the first option of a kind by policy.
	"droid-acp smoke": {AnswersByPolicy: true, ShowsRequestContent: true, ErrorDetailsOnly: true},
	// This program's "attach", which joins a session from a terminal and selects by number.
	"droid-acp attach": {ShowsOptionNames: true, ShowsRequestContent: true},
	// CodeCompanion 9.9.1 (Neovim), seen, and read in lua/codecompanion/interactions/chat/acp/request_permission.lua: of several options of
	// a kind its key takes the last. It holds back waiting calls. Each write into an open buffer appends an empty line and overwrites
	// unsaved text (seen). It resends what its user stopped before the next prompt, block by block (19.22, seen twice; read in Chat:done).
	// It ignores updates outside a prompt (read in lua/codecompanion/acp/init.lua) and does not answer permission requests there (seen with
	// 19.22). The fence of an error begins on the line of the message before it (seen; read in acp/handler.lua). Of a finished call it
	// shows kind and file (seen; read in acp/formatters.lua), and a later update as one more call without a title (seen; read in
	// process_tool_call).
	"CodeCompanion.nvim": {HidesResults: true, ShowsOptionKindsOnly: true, IgnoresUpdatesOutsidePrompt: true, RejectsForeignPrompts: true, HidesUpdatesOutsidePrompt: true, AppendsPromptErrors: true, ShowsLeadingDiff: true, ResendsStoppedPrompt: true, ErrorMessageOnly: true},
	// avante (Neovim) behaves the same, but sends no name.

	// JetBrains' editors, each with its own name after the dot and a member "type": read in a public log, not run.
	"JetBrains.": unknownClient,
}

// unknownClient describes clients that send a name that is not known.
var unknownClient = ClientProfile{AssumedCompliant: true, ShowsRequestContent: true}

// unnamedClient describes clients that send no name, avante among them, whose fs methods lose last newlines and do not answer while a
// buffer has unsaved changes (seen). What such a client shows of an error is unknown, so everything is in the message. avante ends a
// message only when a prompt is sent, and omits user messages of a loaded session (seen; read in lua/avante/llm.lua).
var unnamedClient = ClientProfile{ErrorMessageOnly: true, HidesUserMessages: true}

// parseProfile returns the profile of the client with this clientInfo, which some clients send among their capabilities.
func parseProfile(info, capabilities json.RawMessage) ClientProfile {
	for _, raw := range []json.RawMessage{info, Fields(capabilities)["clientInfo"]} {
		var name string
		if json.Unmarshal(Fields(raw)["name"], &name) == nil && name != "" {
			return profileOf(name)
		}
	}
	return unnamedClient
}

func profileOf(name string) ClientProfile {
	family, _, _ := strings.Cut(name, ".")
	for _, known := range []string{name, family + "."} {
		if traits, ok := knownClients[known]; ok {
			return traits
		}
	}
	return unknownClient
}
