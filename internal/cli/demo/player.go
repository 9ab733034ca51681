// Package demo plays the droid of "smoke --demo" on stdin and stdout: it plays the
// conversation in conversation.jsonl, in the form of droid 0.225, asks
// where droid would, and runs and writes nothing.
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

// Pace is the time between two words, so that one sees them stream.
const Pace = 15 * time.Millisecond

// fields is an object of JSON.
type fields = map[string]any

// conversation is one turn, without the envelopes of its lines: how it begins, what comes in spec mode alone, what comes in
// each mode, and how it ends.
//
//go:embed conversation.jsonl
var conversation string

// Levels of autonomy. No session has the last, so that what needs it is always asked.
const (
	off = iota
	low
	medium
	high
	always
)

// modes are the modes of a session with their levels.
var modes = map[string]int{"spec": off, "normal": off, "auto-low": low, "auto-medium": medium, "auto-high": high}

// needs has the level that makes a request for permission needless, by the kind of the request.
var needs = map[string]int{"create": low, "exec": medium, "exit_spec_mode": always}

// What ends a turn before the conversation does.
var (
	errRefused     = errors.New("the user refused")
	errInterrupted = errors.New("the user interrupted")
)

// agentMessage is what the agent writes: a request, or the answer to a permission request.
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

// player is the droid. One goroutine plays; another reads.
type player struct {
	in                        <-chan agentMessage
	out                       *json.Encoder
	broken                    error // out took no more
	pace                      time.Duration
	session, dir, mode, model string
	prompts                   []agentMessage
	playing                   bool
	running                   string // the id of the call that is asked about, or that seems to run; "" for none
	requestID                 string // the id of the request for permission, "" if none is open
	answered                  string // the option that was chosen
	turns                     int
	modelCalls, earlierCalls  int // calls of the model so far; of these, in turns that have ended
}

// Play plays until in ends. An error says that out took no more.
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

// read gives over the lines of in. What is no message is skipped.
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

// wait answers the agent until the time is up or done says so.
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

// answer does what the agent asks for.
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

// turn plays the conversation to the first prompt that waits.
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

// recorded returns the four parts of the conversation, with what is another in each turn.
func (p *player) recorded(prompt agentMessage) (parts [4][]fields) {
	path := filepath.Join(p.dir, "greet.go")
	var values []string
	for name, value := range map[string]string{
		"$TURN": fmt.Sprintf("%04x", p.turns), "$ID": prompt.ID, "$FILE": path, "$QUOTEDFILE": strconv.Quote(path),
		"$PROMPT": prompt.Params.Text, "$QUOTEDPROMPT": strconv.Quote(prompt.Params.Text),
	} {
		text, _ := json.Marshal(value) // a text
		values = append(values, name, string(text[1:len(text)-1]))
	}
	p.turns++
	for i, part := range strings.Split(conversation, "\n\n") {
		steps := json.NewDecoder(strings.NewReader(strings.NewReplacer(values...).Replace(part)))
		for steps.More() {
			var step fields
			_ = steps.Decode(&step) // it is built in
			parts[i] = append(parts[i], step)
		}
	}
	return parts
}

// play plays steps, unless the user refuses or interrupts: then the call that runs fails, and the others are left out.
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

// speak streams a message of the model, word by word, before the whole of it.
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

// ask asks for permission, unless the mode needs none. Only an option that proceeds is one.
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

// resolved says what became of the request that is open, and which calls go on.
func (p *player) resolved(option string, calls ...string) {
	p.tell(fields{"type": "permission_resolved", "requestId": p.requestID, "toolUseIds": append([]string{}, calls...), "selectedOption": option})
	p.requestID = ""
}

// tokens are what some calls of the model would have taken.
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
