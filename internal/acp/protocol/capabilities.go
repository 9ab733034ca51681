package protocol

import "encoding/json"

// ClientCapabilities are what the editor declared with initialize, as far as it
// changes what it is sent. What it did not declare it does not get.
type ClientCapabilities struct {
	Files          bool // fs/read_text_file and fs/write_text_file, both
	TerminalOutput bool // takes the output of commands in _meta (Zed)
	Forms          bool // elicitation/create with mode "form"
	URLs           bool // elicitation/create with mode "url"
	Compaction     bool // compaction_update
	Notices        bool // notice
	Plans          bool // plan_update, in place of plan
	AsyncTasks     bool // async_task_spawned and the others of its kind (Air)
	BooleanOptions bool // options of type "boolean" among configOptions
	TerminalLogin  bool // auth methods of type "terminal"
	Activity       bool // ActivityMethod, which a server alone declares
	// TerminalLoginMeta is the older form of it: "terminal-auth" in the _meta of a method.
	TerminalLoginMeta bool
	Raw               json.RawMessage // as they came; nil for none
	ClientTraits

	shared bool // see DeclaredByServer
}

// ReadCapabilities reads the clientCapabilities and the clientInfo of initialize.
// A capability of an unexpected form counts as not declared.
func ReadCapabilities(raw, info json.RawMessage) ClientCapabilities {
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
		Raw:               objectOrNil(raw),
		AsyncTasks:        airDeclared(caps["_meta"], AirAsyncTasks),
		Plans:             isObject(caps["plan"]),
		BooleanOptions:    isObject(Fields(session["configOptions"])["boolean"]),
		ClientTraits:      readTraits(info, raw),
	}
	own := Fields(Fields(caps["_meta"])["droid-acp"])
	read.shared, read.Activity = string(own["shared"]) == "true", string(own["activity"]) == "true"
	read.Login = read.Login || read.TerminalLogin || read.TerminalLoginMeta
	return read
}

// HearsInPrompts reports whether what droid says and asks while no prompt runs waits for the next prompt: the client would drop
// it, or lose it with the next answer. The other clients of a session that has some do not wait for that.
func (c ClientCapabilities) HearsInPrompts() bool {
	return (c.DropsOutside || c.PromptsAlone) && !c.shared
}

// ReadDeclared reads the clientCapabilities of initialize alone: a client that declares them is taken to show what
// ACP has it show.
func ReadDeclared(raw json.RawMessage) ClientCapabilities {
	read := ReadCapabilities(raw, nil)
	read.ClientTraits = ClientTraits{OptionNames: true, RequestContent: true, SafeFiles: true, Login: read.TerminalLogin || read.TerminalLoginMeta}
	return read
}

// Fields are the fields of a JSON object, none of anything else.
func Fields(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	_ = json.Unmarshal(raw, &m) // what is no object has no fields
	return m
}

// objectOrNil is raw if it is an object.
func objectOrNil(raw json.RawMessage) json.RawMessage {
	if !isObject(raw) {
		return nil
	}
	return raw
}

func isObject(raw json.RawMessage) bool { return Fields(raw) != nil }
