package fakedroid

import (
	"context"
	"encoding/json"
	"maps"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Hooks are run before and after tools, as droid runs the hooks of a settings file. Unlike droid the fake runs the hooks of parallel calls
// one after the other, and no hook decides a permission.
type Hooks struct {
	// Settings returns the settings file when a session is opened.
	Settings func() []byte
	// Run runs a hook's command with this stdin and returns its stdout. ctx is cancelled when the turn is interrupted or the input ends.
	// Nil runs it with sh.
	Run func(ctx context.Context, command string, stdin []byte) (stdout []byte)
}

// WithHooks makes the fake run hooks. It writes a line as soon as it starts, as droid does, so that its version is known before a session
// is opened. By default there are none.
func WithHooks(h Hooks) Option {
	if h.Run == nil {
		h.Run = func(ctx context.Context, command string, stdin []byte) []byte {
			cmd := exec.CommandContext(ctx, "sh", "-c", command)
			cmd.Stdin = strings.NewReader(string(stdin))
			stdout, _ := cmd.Output() // the output of a failed hook is irrelevant here
			return stdout
		}
	}
	return func(d *Droid) { d.hooks = h }
}

// hookEntry is an element of an event's list in the settings.
type hookEntry struct {
	Matcher string   `json:"matcher"`
	Hooks   []Fields `json:"hooks"`
}

// readHooks reads the settings file, as droid does for each session that it opens.
func (d *Droid) readHooks() {
	if d.hooks.Settings == nil {
		return
	}
	var settings struct {
		Hooks map[string][]hookEntry `json:"hooks"`
	}
	_ = json.Unmarshal(d.hooks.Settings(), &settings) // droid ignores what it cannot decode
	d.hookTable = settings.Hooks
}

// commands returns the hooks of an event for a tool.
func (d *Droid) commands(event, tool string) (all []Fields) {
	for _, e := range d.hookTable[event] {
		matcher, err := regexp.Compile("^(?:" + e.Matcher + ")$")
		if e.Matcher == "" || e.Matcher == "*" || err == nil && matcher.MatchString(tool) {
			all = append(all, e.Hooks...)
		}
	}
	return all
}

// hook runs the hooks of an event for t with input, and reports them. It returns the input that they set instead. response is the tool's,
// after it.
func (d *Droid) hook(event string, t Tool, input Fields, response string) (Fields, error) {
	commands := d.commands(event, t.Name)
	if len(commands) == 0 {
		return input, nil
	}
	id := d.newID()
	told := Fields{"hookId": id}
	if d.version.modern() {
		told = Fields{"hookId": id, "hookEventName": event, "hookMatcher": t.Name, "hookToolCallId": t.ID, "hookOrder": 1795307117436000 + d.ids}
	}
	started := Fields{"hookEventName": event, "hookMatcher": t.Name, "hookCommands": commands}
	if event == "PreToolUse" {
		started["hookToolCallId"] = t.ID
	}
	if err := d.Notify("hook_execution_started", merged(told, started)); err != nil {
		return nil, err
	}
	stdin := Fields{
		"session_id": d.session, "cwd": d.cwd, "permission_mode": d.settings.level, "hook_event_name": event,
		"tool_name": t.Name, "tool_input": input,
	}
	if event == "PostToolUse" {
		stdin["tool_response"] = response
	}
	var results []Fields
	for _, c := range commands {
		command, _ := c["command"].(string)
		stdout, err := d.runHook(command, stdin)
		if err != nil {
			return nil, err
		}
		result := Fields{"exitCode": 0, "stdout": string(stdout), "stderr": ""}
		if d.version.modern() {
			result["command"] = command
		}
		results = append(results, result)
		if updated := d.takeAnswer(stdout); updated != nil {
			input = updated
		}
	}
	return input, d.Notify("hook_execution_completed", merged(told, Fields{"hookStatus": "completed", "hookResults": results}))
}

func merged(all ...Fields) Fields {
	out := Fields{}
	for _, f := range all {
		maps.Copy(out, f)
	}
	return out
}

// before runs the hooks before tools if they precede the permission, and returns the inputs for the tools.
func (d *Droid) before(group []Tool) (inputs []Fields, err error) {
	for _, t := range group {
		in := t.Input
		if d.version.modern() {
			if in, err = d.hook("PreToolUse", t, in, ""); err != nil {
				return nil, err
			}
			if !reflect.DeepEqual(in, t.Input) {
				changed := t
				changed.Input = in
				if err := d.toolCall(changed); err != nil {
					return nil, err
				}
			}
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

// runHook runs one command. The client is answered during that.
func (d *Droid) runHook(command string, stdin Fields) ([]byte, error) {
	in, err := json.Marshal(stdin)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan []byte, 1)
	go func() { done <- d.hooks.Run(ctx, command, in) }()
	defer cancel()
	for {
		select {
		case stdout := <-done:
			return stdout, nil
		case m, ok := <-d.inbox:
			var err error
			switch {
			case !ok:
				err = d.eof()
			case !m.isResponse() || m.invalid != "":
				err = d.serve(m)
			default:
				d.keepAnswer(m)
			}
			if err != nil {
				cancel()
				<-done
				return nil, err
			}
		}
	}
}

// takeAnswer returns the input that a hook set instead of the call's, nil if none, and records its text for the model.
func (d *Droid) takeAnswer(stdout []byte) Fields {
	var answer struct {
		HookSpecificOutput struct {
			UpdatedInput      Fields `json:"updatedInput"`
			AdditionalContext string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	_ = json.Unmarshal(stdout, &answer) // other output is ignored
	if text := answer.HookSpecificOutput.AdditionalContext; text != "" {
		d.context = append(d.context, text)
		visibility := "both"
		if d.version.modern() {
			visibility = "llm_only"
		}
		d.sessions.add(d.session, Fields{"id": d.newID(), "role": "user", "content": []Fields{textBlock(text)}, "visibility": visibility})
	}
	return answer.HookSpecificOutput.UpdatedInput
}

// Told returns the texts of hooks for the model so far, which are not in droid's output.
func (d *Droid) Told() []string { return slices.Clone(d.context) }
