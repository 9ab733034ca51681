package protocol

import (
	"encoding/json"
	"slices"
)

// ClientCapabilities are the capabilities that the client declared with initialize and that affect its messages. It gets nothing that it
// did not declare.
type ClientCapabilities struct {
	Files           bool // fs/read_text_file and fs/write_text_file, both
	TerminalOutput  bool // output of commands in _meta (Zed)
	Forms           bool // elicitation/create with mode "form"
	URLs            bool // elicitation/create with mode "url"
	Compaction      bool // compaction_update
	Notices         bool // notice
	Plans           bool // plan_update instead of plan
	Air             bool // extensions by JetBrains' client Air
	AsyncTasks      bool // async_task_spawned and related updates (Air)
	SessionFailures bool // SessionFailure (Air)
	Subagents       SubagentForm
	LoadReplayEnd   bool // a mark where the replay of a load ends (Air)
	SessionIndex    bool // AirSessionIndex
	BooleanOptions  bool // options of type "boolean" among configOptions
	TerminalLogin   bool // auth methods of type "terminal"
	Activity        bool // ActivityMethod, declared only by servers
	Gateways        bool // the auth methods by which a client sets a gateway to models, older than providers/set
	// TerminalLoginMeta is the older form of TerminalLogin: "terminal-auth" in the _meta of a method.
	TerminalLoginMeta bool
	Raw               json.RawMessage // unparsed; nil if missing
	ClientProfile

	shared bool // see ServerCapabilities
}

// ParseCapabilities parses the clientCapabilities and the clientInfo of initialize. A capability of an unexpected form counts as not
// declared.
func ParseCapabilities(raw, info json.RawMessage) ClientCapabilities {
	caps := Fields(raw)
	elicitation, session, fs := Fields(caps["elicitation"]), Fields(caps["session"]), Fields(caps["fs"])
	read := ClientCapabilities{
		Files:             string(fs["readTextFile"]) == "true" && string(fs["writeTextFile"]) == "true",
		TerminalOutput:    string(Fields(caps["_meta"])["terminal_output"]) == "true",
		Forms:             isObject(elicitation["form"]),
		URLs:              isObject(elicitation["url"]),
		Compaction:        isObject(session["compaction"]),
		Notices:           isObject(session["notices"]),
		TerminalLogin:     string(Fields(caps["auth"])["terminal"]) == "true",
		TerminalLoginMeta: string(Fields(caps["_meta"])["terminal-auth"]) == "true",
		Gateways:          string(Fields(Fields(caps["auth"])["_meta"])["gateway"]) == "true",
		Raw:               objectOrNil(raw),
		Plans:             isObject(caps["plan"]),
		BooleanOptions:    isObject(Fields(session["configOptions"])["boolean"]),
		ClientProfile:     parseProfile(info, raw),
	}
	var air []string
	read.Air, air = airDeclared(caps["_meta"])
	read.AsyncTasks, read.SessionFailures, read.LoadReplayEnd = slices.Contains(air, AirAsyncTasks), slices.Contains(air, AirSessionFailure), slices.Contains(air, AirLoadReplayEnd)
	read.SessionIndex = slices.Contains(air, AirSessionIndex)
	read.Subagents = subagentForm(isObject(caps["subagents"]), read.Air, slices.Contains(air, AirSubagentSessions))
	own := Fields(Fields(caps["_meta"])["droid-acp"])
	read.shared, read.Activity = string(own["shared"]) == "true", string(own["activity"]) == "true"
	read.OffersLogin = read.OffersLogin || read.TerminalLogin || read.TerminalLoginMeta
	return read
}

// UpdatesInPromptsOnly reports whether updates and requests outside a prompt are held until the next one, because the client would drop
// them or lose them with the next response. This does not apply to shared sessions, whose other clients must not wait for that.
func (c ClientCapabilities) UpdatesInPromptsOnly() bool {
	return (c.IgnoresUpdatesOutsidePrompt || c.HidesUpdatesOutsidePrompt) && !c.shared
}

// ParseDeclared parses the clientCapabilities of initialize without regard to the client's name: a client is assumed to display what it
// declares as ACP specifies.
func ParseDeclared(raw json.RawMessage) ClientCapabilities {
	read := ParseCapabilities(raw, nil)
	read.ClientProfile = ClientProfile{ShowsOptionNames: true, ShowsRequestContent: true, SafeFiles: true, OffersLogin: read.TerminalLogin || read.TerminalLoginMeta}
	return read
}

// Fields returns the members of a JSON object, nil for any other value.
func Fields(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	_ = json.Unmarshal(raw, &m) // not an object: nil
	return m
}

// objectOrNil returns raw if it is an object.
func objectOrNil(raw json.RawMessage) json.RawMessage {
	if !isObject(raw) {
		return nil
	}
	return raw
}

func isObject(raw json.RawMessage) bool { return Fields(raw) != nil }
