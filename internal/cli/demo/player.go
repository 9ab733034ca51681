// Package demo is the scripted droid of "smoke --demo". Play reads requests from stdin and writes droid's messages to stdout: the
// conversation in conversation.jsonl, in the format of droid 0.225, with questions where droid would ask. It runs and writes nothing.
// cmd/droid-acp runs it in a separate process of this program.
package demo

import (
	"bufio"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Pace is the pause between two words, so that their streaming is visible.
const Pace = 15 * time.Millisecond

// fields is a JSON object.
type fields = map[string]any

// conversation is one turn, without the envelopes of its lines: its beginning, the part for spec mode alone, the part for every mode, and
// its end.
//
//go:embed conversation.jsonl
var conversation string

// Levels of autonomy. No session has the last one, so that what needs it is always asked.
const (
	off = iota
	low
	medium
	high
	always
)

// modes maps the modes of a session to their levels.
var modes = map[string]int{"spec": off, "normal": off, "auto-low": low, "auto-medium": medium, "auto-high": high}

// needs maps the kind of a permission request to the level from which it is not asked.
var needs = map[string]int{"create": low, "exec": medium, "exit_spec_mode": always}

// Reasons why a turn ends before the conversation does.
var (
	errRefused     = errors.New("the user refused")
	errInterrupted = errors.New("the user interrupted")
)

// agentMessage is a line of the agent: a request, or the answer to a permission request.
type agentMessage struct {
	ID     string `json:"id"`
	Method string `json:"method"`
	Params struct {
		CWD   string `json:"cwd"`
		Mode  string `json:"autonomyMode"`
		Model string `json:"modelId"`
		Text  string `json:"text"`
	} `json:"params"`
	Result struct {
		SelectedOption string `json:"selectedOption"`
	} `json:"result"`
}

// player is the scripted droid. One goroutine plays; another reads.
type player struct {
	in                        <-chan agentMessage
	out                       *json.Encoder
	broken                    error // the error of writing to out
	pace                      time.Duration
	session, dir, mode, model string
	prompts                   []agentMessage
	playing                   bool
	running                   string // ID of the call that is asked about or seems to run; "" if none
	requestID                 string // ID of the open permission request, "" if none
	answered                  string // the selected option
	turns                     int
	modelCalls, earlierCalls  int // model calls so far; those of previous turns
}

// Play plays until the end of in. It returns the error of writing to out.
func Play(in io.Reader, out io.Writer, pace time.Duration) error {
	lines, stop := make(chan agentMessage), make(chan struct{})
	defer close(stop)
	go read(in, lines, stop)
	p := &player{in: lines, out: json.NewEncoder(out), pace: pace, session: uuid.NewString(), mode: "normal", model: "custom:Fake-0"}
	for {
		err := p.wait(nil, func() bool { return len(p.prompts) > 0 })
		if err == nil {
			err = p.turn()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// read passes the lines of in to lines. It skips invalid ones.
func read(in io.Reader, lines chan<- agentMessage, stop <-chan struct{}) {
	defer close(lines)
	for from := bufio.NewReader(in); ; {
		text, err := from.ReadBytes('\n')
		if err != nil {
			return
		}
		var l agentMessage
		if json.Unmarshal(text, &l) != nil {
			continue
		}
		select {
		case lines <- l:
		case <-stop:
			return
		}
	}
}

// wait answers the agent until the time is up or done returns true.
func (p *player) wait(timeUp <-chan time.Time, done func() bool) error {
	for p.broken == nil && !done() {
		select {
		case <-timeUp:
			return p.broken
		case l, more := <-p.in:
			if !more {
				return io.EOF
			}
			if p.answer(l); l.Method == "droid.interrupt_session" && p.playing {
				return errInterrupted
			}
		}
	}
	return p.broken
}

// pause waits between two words.
func (p *player) pause() error {
	return p.wait(time.After(p.pace), func() bool { return false })
}

// answer handles a message of the agent.
func (p *player) answer(l agentMessage) {
	switch l.Method {
	case "":
		if p.requestID != "" && p.requestID == l.ID {
			p.answered = cmp.Or(l.Result.SelectedOption, "cancel") // no answer is a refusal
		}
	case "droid.initialize_session":
		p.dir = l.Params.CWD
		p.set(l)
		p.respond(l.ID, fields{
			"sessionId": p.session, "session": fields{"messages": []any{}}, "settings": p.settings(),
			"availableModels": []fields{{"id": "custom:Fake-0", "displayName": "Fake", "shortDisplayName": "Fake", "modelProvider": "generic-chat-completion-api",
				"isCustom": true, "supportedReasoningEfforts": []string{"none"}, "defaultReasoningEffort": "none"}},
		})
	case "droid.update_session_settings":
		p.set(l)
		p.tell(fields{"type": "settings_updated", "settings": p.settings(), "requestId": l.ID})
		p.respond(l.ID, fields{})
	case "droid.add_user_message":
		p.prompts = append(p.prompts, l)
		p.respond(l.ID, fields{})
	case "droid.interrupt_session":
		p.respond(l.ID, fields{})
	default:
		p.send(fields{"type": "response", "id": l.ID, "error": fields{"code": -32601, "message": "Unknown method: " + l.Method}})
	}
}

func (p *player) set(l agentMessage) {
	if _, known := modes[l.Params.Mode]; known {
		p.mode = l.Params.Mode
	}
	p.model = cmp.Or(l.Params.Model, p.model)
}

func (p *player) settings() fields {
	interaction := "auto"
	if p.mode == "spec" {
		interaction = "spec"
	}
	return fields{"modelId": p.model, "reasoningEffort": "none", "autonomyMode": p.mode, "interactionMode": interaction,
		"autonomyLevel": []string{"off", "low", "medium", "high"}[modes[p.mode]]}
}

// turn plays the conversation for the first waiting prompt.
func (p *player) turn() error {
	prompt := p.prompts[0]
	p.prompts, p.playing = p.prompts[1:], true
	steps := p.recorded(prompt)
	start, plan, write, end := steps[0], steps[1], steps[2], steps[3]
	if p.mode != "spec" {
		plan = nil
	}
	reason := "completed"
	switch err := p.play(slices.Concat(start, plan, write)); {
	case errors.Is(err, errInterrupted):
		reason = "cancelled"
	case err != nil && !errors.Is(err, errRefused):
		return err
	}
	end[0]["reason"], end[0]["tokenUsage"], end[0]["cumulativeTokenUsage"] = reason, tokens(p.modelCalls-p.earlierCalls), tokens(p.modelCalls)
	p.playing, p.earlierCalls = false, p.modelCalls
	return p.play(end)
}

// recorded returns the four parts of the conversation, with the values that differ between turns replaced.
func (p *player) recorded(prompt agentMessage) (parts [4][]fields) {
	path := filepath.Join(p.dir, "greet.go")
	var values []string
	for name, value := range map[string]string{
		"$TURN": fmt.Sprintf("%04x", p.turns), "$ID": prompt.ID, "$FILE": path, "$QUOTEDFILE": strconv.Quote(path),
		"$PROMPT": prompt.Params.Text, "$QUOTEDPROMPT": strconv.Quote(prompt.Params.Text),
	} {
		text, _ := json.Marshal(value) // a string
		values = append(values, name, string(text[1:len(text)-1]))
	}
	p.turns++
	for i, part := range strings.Split(conversation, "\n\n") {
		steps := json.NewDecoder(strings.NewReader(strings.NewReplacer(values...).Replace(part)))
		for steps.More() {
			var step fields
			_ = steps.Decode(&step) // it is embedded
			parts[i] = append(parts[i], step)
		}
	}
	return parts
}

// play plays steps, unless the user refuses or interrupts: then the running call fails, and the other steps are skipped.
func (p *player) play(steps []fields) error {
	for i, s := range steps {
		err := p.step(s)
		if err == nil {
			continue
		}
		if p.requestID != "" {
			p.resolved("cancel")
		}
		if p.running != "" {
			result := steps[i+slices.IndexFunc(steps[i:], func(s fields) bool { return s["type"] == "tool_result" })]
			result["content"], result["isError"], p.running = "Error: Tool execution cancelled by user", true, ""
			p.tell(result)
		}
		return err
	}
	return nil
}

// step plays one line.
func (p *player) step(s fields) error {
	switch s["type"] {
	case nil:
		return p.ask(s)
	case "create_message":
		if err := p.speak(s["message"].(fields)); err != nil {
			return err
		}
	case "settings_updated": // the plan is approved
		p.mode = "normal"
		s["settings"] = p.settings()
	case "tool_progress_update":
		if err := p.pause(); err != nil {
			return err
		}
	case "tool_result":
		if err := p.pause(); err != nil {
			return err
		}
		p.running = ""
	}
	p.tell(s)
	return nil
}

// speak streams a message of the model word by word, and then sends the whole message.
func (p *player) speak(message fields) error {
	if message["role"] == "user" {
		return nil
	}
	for i, c := range message["content"].([]any) {
		block := c.(fields)
		if block["type"] == "tool_use" {
			p.running = block["id"].(string)
			p.tell(fields{"type": "tool_call", "toolUse": block})
			continue
		}
		kind := map[any]string{"thinking": "thinking", "text": "assistant"}[block["type"]]
		for _, word := range strings.SplitAfter(block[block["type"].(string)].(string), " ") {
			if err := p.pause(); err != nil {
				return err
			}
			p.tell(fields{"type": kind + "_text_delta", "messageId": message["id"], "blockIndex": i, "textDelta": word})
		}
		p.tell(fields{"type": kind + "_text_complete", "messageId": message["id"], "blockIndex": i})
	}
	p.modelCalls++
	return nil
}

// ask asks for permission, unless the mode does not need it. Only an option that proceeds counts as permission.
func (p *player) ask(request fields) error {
	kind := request["params"].(fields)["toolUses"].([]any)[0].(fields)["confirmationType"].(string)
	if needs[kind] <= modes[p.mode] {
		return nil
	}
	p.requestID, p.answered = request["id"].(string), ""
	request["type"] = "request"
	p.send(request)
	if err := p.wait(nil, func() bool { return p.answered != "" }); err != nil {
		return err
	}
	if !strings.HasPrefix(p.answered, "proceed_") {
		return errRefused
	}
	p.resolved(p.answered, p.running)
	return nil
}

// resolved reports the answer to the open request, and which calls proceed.
func (p *player) resolved(option string, calls ...string) {
	p.tell(fields{"type": "permission_resolved", "requestId": p.requestID, "toolUseIds": append([]string{}, calls...), "selectedOption": option})
	p.requestID = ""
}

// tokens returns the token usage of a number of model calls.
func tokens(calls int) fields { return fields{"inputTokens": 100 * calls, "outputTokens": 10 * calls} }

func (p *player) respond(id string, result fields) {
	p.send(fields{"type": "response", "id": id, "result": result})
}

func (p *player) tell(notification fields) {
	p.send(fields{"type": "notification", "method": "droid.session_notification", "params": fields{"sessionId": p.session, "notification": notification}})
}

// send writes a line as droid does.
func (p *player) send(f fields) {
	f["jsonrpc"], f["factoryApiVersion"], f["factoryProtocolVersion"] = "2.0", "1.0.0", "1.220.0"
	if p.broken == nil {
		p.broken = p.out.Encode(f)
	}
}
