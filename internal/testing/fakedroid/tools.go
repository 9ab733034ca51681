package fakedroid

import (
	"encoding/json"
	"maps"
	"strings"
)

// Tool is a tool call of the fake's model, which the fake pretends to run.
type Tool struct {
	ID           string // the model's; chosen by the fake if empty
	Name         string
	Input        Fields
	Confirmation string   // confirmationType; "" never asks
	Details      Fields   // of the permission request, without type
	Options      []Fields // of the permission request; nil for the default of Confirmation and Impact
	Impact       string   // low, medium or high: the required autonomy
	Progress     []string
	Result       string
	IsError      bool
	Works        bool                     // Read, Create and Edit act on the file in Input, and report the result
	Do           func(input Fields) error // the action of any other tool with Works; its error is the result
}

func (t Tool) use() Fields {
	return Fields{"type": "tool_use", "id": t.ID, "name": t.Name, "input": t.Input}
}

// announce writes the tool_call messages of t: first without input, then complete, once or twice (quirk 8).
func (d *Droid) announce(t Tool) error {
	empty := t
	empty.Input = Fields{}
	calls := []Tool{empty, t}
	if !d.version.modern() {
		calls = append(calls, t)
	}
	for _, c := range calls {
		if err := d.toolCall(c); err != nil {
			return err
		}
	}
	return nil
}

func (d *Droid) toolCall(t Tool) error { return d.Notify("tool_call", Fields{"toolUse": t.use()}) }

// Use is Say followed by RunTools: one model message with its tool calls, and the tools. Tools without an ID get one.
func (d *Droid) Use(thinking, text string, tools ...Tool) error {
	for i := range tools {
		if tools[i].ID == "" {
			tools[i].ID = "call_" + d.newID()[24:]
		}
	}
	if err := d.Say(thinking, text, tools...); err != nil {
		return err
	}
	return d.RunTools(tools...)
}

// RunTools asks for permission if the session's autonomy does not allow a tool, with one request for all on old versions and one for each
// run of the same type since 1.206 (quirk 18), and plays progress and result of each tool.
func (d *Droid) RunTools(tools ...Tool) error {
	d.turn.open = append([]Tool(nil), tools...)
	if err := d.state("executing_tool"); err != nil {
		return err
	}
	for _, t := range tools {
		if err := d.phase(t, "queued"); err != nil {
			return err
		}
	}
	for _, group := range d.groups(tools) {
		inputs, err := d.before(group)
		if err != nil {
			return err
		}
		if d.needsPermission(group[0]) {
			if err := d.askPermission(group); err != nil {
				return err
			}
		}
		for i, t := range group {
			if err := d.run(t, inputs[i]); err != nil {
				return err
			}
		}
	}
	if d.turn.newSession && d.turn.handoff == "" {
		return d.handOff(tools[0])
	}
	if err := d.fold(); err != nil {
		return err
	}
	return d.state("streaming_assistant_message")
}

// fold merges queued messages into the running turn, as droid does when a tool has ended (quirk 2).
func (d *Droid) fold() error {
	if !d.folds {
		return nil
	}
	if _, err := d.next(0); err != nil { // what has already arrived
		return err
	}
	for _, p := range d.queue {
		if err := d.createMessage(d.newID(), "user", Fields{"content": []Fields{textBlock(p.Text)}}, p.RequestID); err != nil {
			return err
		}
		d.turn.folded = append(d.turn.folded, p.Text)
	}
	d.queue = nil
	return nil
}

// Folded returns the messages that were merged into the running turn so far.
func (d *Droid) Folded() []string { return d.turn.folded }

// groups splits tools into those of one permission request each.
func (d *Droid) groups(tools []Tool) [][]Tool {
	var groups [][]Tool
	for i, t := range tools {
		last := len(groups) - 1
		same := i > 0 && d.needsPermission(t) == d.needsPermission(tools[i-1]) &&
			(!d.version.modern() || t.Confirmation == tools[i-1].Confirmation && !(len(d.hookTable) > 0 && changesFiles(t.Name)))
		if same {
			groups[last] = append(groups[last], t)
			continue
		}
		groups = append(groups, []Tool{t})
	}
	return groups
}

func (d *Droid) needsPermission(t Tool) bool {
	switch t.Confirmation {
	case "":
		return false
	case "exit_spec_mode":
		return true
	}
	return rank(t.Impact) > rank(d.settings.level)
}

func (d *Droid) phase(t Tool, phase string) error {
	if !d.version.modern() {
		return nil
	}
	return d.Notify("tool_execution_phase_changed", Fields{"toolUseId": t.ID, "toolName": t.Name, "phase": phase})
}

// run runs t with this input.
func (d *Droid) run(t Tool, input Fields) error {
	if !d.version.modern() {
		var err error
		if input, err = d.hook("PreToolUse", t, input, ""); err != nil {
			return err
		}
	}
	if err := d.phase(t, "executing"); err != nil {
		return err
	}
	if d.version.modern() {
		if err := d.tokenUsage(); err != nil {
			return err
		}
	}
	output := ""
	for _, line := range t.Progress {
		if err := d.Pause(d.pace); err != nil {
			return err
		}
		output += line + "\n"
		update := Fields{"type": "status", "text": lastTwoLines(output), "timestamp": 1795229896723}
		if d.version.modern() {
			update["terminalId"], update["fullOutput"] = "fa4ed801-0000-4000-8000-00000000000a", output
		}
		if err := d.Notify("tool_progress_update", Fields{"toolUseId": t.ID, "toolName": t.Name, "update": update}); err != nil {
			return err
		}
	}
	if err := d.Pause(d.pace); err != nil {
		return err
	}
	result, isError := d.work(t, input)
	if isError {
		return d.result(t, result, true)
	}
	if !d.version.modern() {
		if err := d.result(t, result, false); err != nil {
			return err
		}
		_, err := d.hook("PostToolUse", t, input, result)
		return err
	}
	if _, err := d.hook("PostToolUse", t, input, result); err != nil {
		return err
	}
	return d.result(t, result, false)
}

// lastTwoLines returns what droid reports of a running command's output; a single line is preceded by an empty one.
func lastTwoLines(output string) string {
	lines := strings.Split("\n"+strings.TrimSuffix(output, "\n"), "\n")
	return strings.Join(lines[len(lines)-2:], "\n")
}

// result writes the tool_result of t; 0.99 repeats the call before it.
func (d *Droid) result(t Tool, content string, isError bool) error {
	if !d.version.modern() {
		if err := d.toolCall(t); err != nil {
			return err
		}
	}
	open := d.turn.open[:0]
	for _, o := range d.turn.open {
		if o.ID != t.ID {
			open = append(open, o)
		}
	}
	d.turn.open = open
	return d.rawResult(t, content, isError)
}

func (d *Droid) rawResult(t Tool, content string, isError bool) error {
	id := d.newID()
	d.parent = id
	d.sessions.add(d.session, Fields{"id": id, "role": "tool", "createdAt": 1795229644628, "content": []Fields{{
		"type": "tool_result", "tool_use_id": t.ID, "content": content, "is_error": isError,
	}}})
	return d.Notify("tool_result", Fields{"toolUseId": t.ID, "messageId": id, "content": content, "isError": isError})
}

// askPermission asks for all of tools and waits for the answer.
func (d *Droid) askPermission(tools []Tool) error {
	if err := d.state("waiting_for_tool_confirmation"); err != nil {
		return err
	}
	uses := make([]Fields, len(tools))
	ids := make([]string, len(tools))
	for i, t := range tools {
		details := Fields{"type": t.Confirmation}
		maps.Copy(details, t.Details)
		uses[i] = Fields{"toolUse": t.use(), "confirmationType": t.Confirmation, "details": details}
		ids[i] = t.ID
	}
	options := d.options(tools[0])
	id, err := d.Request("droid.request_permission", Fields{"toolUses": uses, "options": options})
	if err != nil {
		return err
	}
	d.turn.asked, d.turn.question = id, false
	answer, err := d.awaitAnswer(id)
	if err != nil {
		return err
	}
	var result struct {
		SelectedOption    string  `json:"selectedOption"`
		EditedSpecContent *string `json:"editedSpecContent"`
	}
	_ = json.Unmarshal(answer.Result, &result) // droid treats an invalid answer as cancel
	noText := result.SelectedOption == "proceed_edit" && result.EditedSpecContent == nil
	if answer.Error != nil || !knownOption(result.SelectedOption) || result.SelectedOption == "cancel" || noText {
		return d.refused(id, tools)
	}
	return d.allowed(id, ids, tools[0], result.SelectedOption)
}

// awaitAnswer waits for the response to the request ID.
func (d *Droid) awaitAnswer(id string) (*Message, error) {
	for {
		m, err := d.next(-1)
		if err != nil {
			return nil, err
		}
		if m != nil && m.ID == id {
			d.turn.asked = ""
			return m, nil
		}
	}
}

// knownOption reports whether droid acts on a value, offered or not (11e).
func knownOption(value string) bool {
	return value == "cancel" || strings.HasPrefix(value, "proceed_")
}

func (d *Droid) refused(id string, tools []Tool) error {
	if err := d.state("streaming_assistant_message"); err != nil {
		return err
	}
	if err := d.resolved(id, nil, "cancel"); err != nil {
		return err
	}
	text := "Error: Tool execution cancelled by user"
	if tools[0].Confirmation == "exit_spec_mode" {
		text = "Error: Plan not approved - remaining in Spec Mode. Provide feedback to refine the spec."
	}
	for _, t := range append([]Tool(nil), d.turn.open...) {
		if err := d.result(t, text, true); err != nil {
			return err
		}
	}
	return ErrRefused
}

func (d *Droid) resolved(id string, toolIDs []string, option string) error {
	if toolIDs == nil {
		toolIDs = []string{}
	}
	return d.Notify("permission_resolved", Fields{"requestId": id, "toolUseIds": toolIDs, "selectedOption": option})
}

func (d *Droid) allowed(id string, toolIDs []string, first Tool, option string) error {
	state := "executing_tool"
	if !d.version.modern() {
		state = "streaming_assistant_message"
	}
	if err := d.state(state); err != nil {
		return err
	}
	if err := d.resolved(id, toolIDs, option); err != nil {
		return err
	}
	if d.pace > 0 {
		if err := d.Pause(d.pace); err != nil {
			return err
		}
	}
	before := d.settings
	switch {
	case first.Confirmation == "exit_spec_mode":
		d.settings.interaction, d.settings.level = "auto", specLevel(option) // proceed_once forces off (quirk 23)
		d.turn.newSession = strings.HasPrefix(option, "proceed_new_session")
	case option == "proceed_always":
		d.settings.level = first.Impact
	}
	if before == d.settings {
		return nil
	}
	return d.notifySettings("")
}

// specLevel returns the autonomy level selected by an answer to exit_spec_mode.
func specLevel(option string) string {
	level := option[strings.LastIndexByte(option, '_')+1:]
	if rank(level) < 0 {
		return "off"
	}
	return level
}

// options returns droid's options for a tool.
func (d *Droid) options(t Tool) []Fields {
	if t.Options != nil {
		return t.Options
	}
	if t.Confirmation == "exit_spec_mode" {
		return d.specOptions()
	}
	always := map[string]string{
		"low":    "Yes, and always allow low impact commands (file edits and read-only commands)",
		"medium": "Yes, and always allow medium impact commands (all commands that are reversible)",
		"high":   "Yes, and always allow high impact commands (all commands)",
	}[t.Impact]
	return []Fields{
		{"label": "Yes, allow", "value": "proceed_once", "selectedColor": "#d78700"},
		{"label": always, "value": "proceed_always", "selectedColor": "#d78700"},
		{"label": "No, cancel", "value": "cancel", "selectedColor": "#d75f5f", "selectedPrefix": "✕ "},
	}
}

func (d *Droid) specOptions() []Fields {
	options := []Fields{
		{"label": "Proceed with implementation", "value": "proceed_once", "selectedColor": "#d78700"},
		{"label": "Proceed, and allow file edits and read-only commands (Low)", "value": "proceed_auto_run_low", "selectedColor": "#d78700"},
		{"label": "Proceed, and allow reversible commands (Medium)", "value": "proceed_auto_run_medium", "selectedColor": "#d78700"},
		{"label": "Proceed, and allow all commands (High)", "value": "proceed_auto_run_high", "selectedColor": "#d75f5f"},
	}
	if d.version.modern() {
		options = append(options,
			Fields{"label": "Proceed in a new session (no autonomy)", "value": "proceed_new_session", "selectedColor": "#d78700"},
			Fields{"label": "Proceed in a new session (Low autonomy)", "value": "proceed_new_session_low", "selectedColor": "#d78700"},
		)
	}
	return append(options, Fields{"label": "No, keep iterating on spec", "value": "cancel", "selectedColor": "#d75f5f", "selectedPrefix": "✕ "})
}
