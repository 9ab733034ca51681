package adapter

import "encoding/json"

// clientCapabilities are what the editor declared with initialize, as far as it
// changes what it is sent. What it did not declare it does not get.
type clientCapabilities struct {
	terminalOutput bool // takes the output of commands in _meta (Zed)
	forms          bool // elicitation/create with mode "form"
	urls           bool // elicitation/create with mode "url"
	compaction     bool // compaction_update
	notices        bool // notice
	clientTraits
}

// readCapabilities reads the clientCapabilities and the clientInfo of initialize.
// A capability of an unexpected form counts as not declared.
func readCapabilities(raw, info json.RawMessage) clientCapabilities {
	caps := fields(raw)
	elicitation, session := fields(caps["elicitation"]), fields(caps["session"])
	return clientCapabilities{
		terminalOutput: string(fields(caps["_meta"])["terminal_output"]) == "true",
		forms:          isObject(elicitation["form"]),
		urls:           isObject(elicitation["url"]),
		compaction:     isObject(session["compaction"]),
		notices:        isObject(session["notices"]),
		clientTraits:   readTraits(info, raw),
	}
}

// fields are the fields of a JSON object, none of anything else.
func fields(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	_ = json.Unmarshal(raw, &m) // what is no object has no fields
	return m
}

func isObject(raw json.RawMessage) bool { return fields(raw) != nil }
