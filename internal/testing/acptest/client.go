package acptest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// client is the clientCapabilities of a client.
type client map[string]any

// has reports whether a client declares a capability, given by its path: true, or an object.
func (c client) has(path string) bool {
	var v any = map[string]any(c)
	for name := range strings.SplitSeq(path, ".") {
		fields, _ := v.(map[string]any)
		v = fields[name]
	}
	_, object := v.(map[string]any)
	return object || v == true
}

// air returns what a client declares of Air.
func (c client) air() (is bool, capabilities []any) {
	meta, _ := c["_meta"].(map[string]any)
	jetbrains, _ := meta["jetbrains"].(map[string]any)
	air, is := jetbrains["air"].(map[string]any)
	capabilities, _ = air["capabilities"].([]any)
	return is, capabilities
}

// takesAir reports whether a client declares one of Air's capabilities.
func (c client) takesAir(capability string) bool {
	_, capabilities := c.air()
	return slices.Contains(capabilities, any(capability))
}

// takesAirSubagents reports whether a client is Air and shows subagents as sessions.
func (c client) takesAirSubagents() bool {
	is, _ := c.air()
	return is && (c.has("subagents") || c.takesAir("nativeSubagentSessions"))
}

// isAirSubagent reports whether a kind of update is from Air's draft of subagents as sessions.
func isAirSubagent(update string) bool {
	return update == "subagent_spawned" || update == "subagent_state_update"
}

// airField matches a field for Air in a message.
var airField = regexp.MustCompile(`"jetbrains":\{"air":\{(?:"version":1,?)?"(\w+)"`)

// allowAir refuses fields for Air that the client did not ask for.
func (c client) allowAir(text []byte) error {
	is, capabilities := c.air()
	for _, found := range airField.FindAllSubmatch(text, -1) {
		name := string(found[1])
		needs := slices.Contains([]string{"asyncTasks", "sessionFailure", "loadReplayEnd"}, name)
		if !is || needs && !slices.Contains(capabilities, any(name)) {
			return fmt.Errorf("%s needs a client that declares it in _meta.jetbrains.air", name)
		}
	}
	return nil
}

// updateNeeds maps updates to the capability that they require. Those for plans and subagents are not stable yet.
var updateNeeds = map[string]string{
	"notice":                   "session.notices",
	"compaction_update":        "session.compaction",
	"compaction_summary_chunk": "session.compaction",
	"plan_update":              "plan",
	"plan_removed":             "plan",
	"subagent_update":          "subagents",
	"session_message":          "subagents",
	"session_message_chunk":    "subagents",
}

// methodNeeds maps methods to the capability that they require.
var methodNeeds = map[string]string{
	"elicitation/complete":   "elicitation.url",
	"fs/read_text_file":      "fs.readTextFile",
	"fs/write_text_file":     "fs.writeTextFile",
	"terminal/create":        "terminal",
	"terminal/output":        "terminal",
	"terminal/kill":          "terminal",
	"terminal/release":       "terminal",
	"terminal/wait_for_exit": "terminal",
}

// sent has the fields that determine whether a client may be sent a message.
type sent struct {
	Mode   string
	Update struct {
		SessionUpdate string
		Content       json.RawMessage
		ConfigOptions []struct{ Type string }
		Meta          map[string]json.RawMessage `json:"_meta"`
	}
}

// allow returns an error for a request or notification that the client does not support.
func (c client) allow(m message) error {
	p := read(m.Params)
	need := methodNeeds[m.Method]
	switch m.Method {
	case "elicitation/create":
		need = "elicitation." + p.Mode
	case "session/update":
		need = updateNeeds[p.Update.SessionUpdate]
	}
	if need != "" && !c.has(need) {
		return fmt.Errorf("%s %s%s needs the client's capability %s, which it did not declare", m.Method, p.Update.SessionUpdate, p.Mode, need)
	}
	if err := c.allowAir(m.Params); err != nil {
		return err
	}
	if strings.HasPrefix(p.Update.SessionUpdate, "async_task_") && !c.takesAir("asyncTasks") {
		return fmt.Errorf("%s needs the client's asyncTasks in _meta.jetbrains.air", p.Update.SessionUpdate)
	}
	if isAirSubagent(p.Update.SessionUpdate) && !c.takesAirSubagents() || need == "subagents" && c.takesAirSubagents() {
		return fmt.Errorf("%s is not the form in which the client takes subagents", p.Update.SessionUpdate)
	}
	for name := range p.Update.Meta {
		if strings.HasPrefix(name, "terminal_") && !c.has("_meta.terminal_output") {
			return fmt.Errorf("_meta.%s needs the client's _meta.terminal_output", name)
		}
	}
	for _, o := range p.Update.ConfigOptions {
		if err := c.allowOption(o.Type); err != nil {
			return err
		}
	}
	var items []struct{ Type string }
	_ = json.Unmarshal(p.Update.Content, &items) // the content of a message is one object
	for _, item := range items {
		if item.Type == "terminal" && !c.has("terminal") && !c.has("_meta.terminal_output") {
			return fmt.Errorf("a terminal as content needs a client that shows terminals")
		}
	}
	return nil
}

// allowResult returns an error for kinds in a result that the client does not support.
func (c client) allowResult(result json.RawMessage) error {
	var r struct {
		AuthMethods   []struct{ Type string }
		ConfigOptions []struct{ Type string }

		AgentCapabilities struct {
			SessionCapabilities struct{ Subagents json.RawMessage }
		}
	}
	_ = json.Unmarshal(result, &r) // its form is checked elsewhere
	if r.AgentCapabilities.SessionCapabilities.Subagents != nil && !c.takesAirSubagents() {
		return fmt.Errorf("the capability subagents of an agent is for Air alone")
	}
	if err := c.allowAir(result); err != nil {
		return err
	}
	for _, m := range r.AuthMethods {
		if m.Type == "terminal" && !c.has("auth.terminal") {
			return fmt.Errorf("a terminal method of login needs the client's capability auth.terminal")
		}
	}
	for _, o := range r.ConfigOptions {
		if err := c.allowOption(o.Type); err != nil {
			return err
		}
	}
	return nil
}

func (c client) allowOption(kind string) error {
	if kind == "boolean" && !c.has("session.configOptions.boolean") {
		return fmt.Errorf("a boolean option needs the client's capability session.configOptions.boolean")
	}
	return nil
}

// wantsUnstable reports whether the client has declared the unstable capability that this message requires.
func (c client) wantsUnstable(m message) bool {
	switch need := updateNeeds[read(m.Params).Update.SessionUpdate]; need {
	case "plan", "subagents":
		return c.has(need)
	}
	return false
}

func read(params json.RawMessage) (p sent) {
	_ = json.Unmarshal(params, &p) // its form is checked elsewhere
	return p
}
