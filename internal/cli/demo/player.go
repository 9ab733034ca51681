// Package demo plays the droid of "smoke --demo" on stdin and stdout: it tells a
// conversation that stands in conversation.go the way droid 0.225 tells its own, asks
// where droid would, and runs and writes nothing.
package demo

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Pace is the time between two words, so that one sees them stream.
const Pace = 15 * time.Millisecond

// fields is an object of JSON.
type fields = map[string]any

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

// What ends a turn before the conversation does.
var (
	errRefused     = errors.New("the user refused")
	errInterrupted = errors.New("the user interrupted")
)

// line is what the agent writes: a request, or the answer to a permission request.
type line struct {
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
	in                        <-chan line
	out                       *json.Encoder
	broken                    error // out took no more
	pace                      time.Duration
	session, dir, mode, model string
	prompts                   []line
	playing                   bool
	running                   *call
	ids                       int
	spoken, before            int // calls of the model so far; of these, in turns that have ended
}

// call is a tool that is asked about, or that seems to run.
type call struct {
	*tool
	id     string
	asked  string // the id of the request, "" where none is open
	answer string // the option that was chosen
}

// Play plays until in ends. An error says that out took no more.
func Play(in io.Reader, out io.Writer, pace time.Duration) error {
	lines, stop := make(chan line), make(chan struct{})
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
func read(in io.Reader, lines chan<- line, stop <-chan struct{}) {
	defer close(lines)
	for from := bufio.NewReader(in); ; {
		text, err := from.ReadBytes('\n')
		if err != nil {
			return
		}
		var l line
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
func (p *player) answer(l line) {
	switch l.Method {
	case "":
		if p.running != nil && p.running.asked == l.ID {
			p.running.answer = cmp.Or(l.Result.SelectedOption, "cancel") // no answer is a refusal
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
		p.tell("settings_updated", fields{"settings": p.settings(), "requestId": l.ID})
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

func (p *player) set(l line) {
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

// turn answers the first prompt that waits.
func (p *player) turn() error {
	prompt := p.prompts[0]
	p.prompts, p.playing = p.prompts[1:], true
	id, reason := p.newID(), "completed"
	p.state("streaming_assistant_message")
	p.tell("create_message", fields{"requestId": prompt.ID, "message": fields{"id": id, "role": "user", "content": []fields{{"type": "text", "text": prompt.Params.Text}}}})
	switch err := p.converse(prompt.Params.Text); {
	case errors.Is(err, errInterrupted):
		reason = "cancelled"
		if p.running != nil {
			p.ended("Error: Tool execution cancelled by user", true)
		}
	case err != nil && !errors.Is(err, errRefused):
		return err
	}
	p.tell("agent_turn_completed", fields{"reason": reason, "turnId": id, "tokenUsage": tokens(p.spoken - p.before), "cumulativeTokenUsage": tokens(p.spoken)})
	p.state("idle")
	p.playing, p.before = false, p.spoken
	return nil
}

func (p *player) converse(prompt string) error {
	planning := p.mode == "spec"
	for _, m := range conversation(prompt, p.dir) {
		if m.planning && !planning {
			continue
		}
		if err := p.say(m); err != nil {
			return err
		}
	}
	return nil
}

// say streams a message of the model, and plays its tool.
func (p *player) say(m message) error {
	id, content := p.newID(), []fields{}
	for _, part := range []struct{ kind, field, text string }{{"thinking", "thinking", m.thinking}, {"assistant", "text", m.text}} {
		if part.text == "" {
			continue
		}
		for _, word := range strings.SplitAfter(part.text, " ") {
			if err := p.pause(); err != nil {
				return err
			}
			p.tell(part.kind+"_text_delta", fields{"messageId": id, "blockIndex": len(content), "textDelta": word})
		}
		p.tell(part.kind+"_text_complete", fields{"messageId": id, "blockIndex": len(content)})
		content = append(content, fields{"type": part.field, part.field: part.text})
	}
	if m.tool != nil {
		p.running = &call{tool: m.tool, id: "call_" + p.newID()[24:]}
		p.tell("tool_call", fields{"toolUse": p.running.use()})
		content = append(content, p.running.use())
	}
	p.tell("create_message", fields{"message": fields{"id": id, "role": "assistant", "content": content}})
	p.spoken++
	if m.tool == nil {
		return nil
	}
	return p.run()
}

// run plays a call: the request for permission where the mode needs one, the output, the result.
func (p *player) run() error {
	c := p.running
	if c.needs > modes[p.mode] {
		if err := p.ask(c); err != nil {
			return err
		}
	}
	p.tell("tool_execution_phase_changed", fields{"toolUseId": c.id, "toolName": c.name, "phase": "executing"})
	for _, soFar := range c.output {
		if err := p.pause(); err != nil {
			return err
		}
		p.tell("tool_progress_update", fields{"toolUseId": c.id, "toolName": c.name, "update": fields{"type": "status", "fullOutput": soFar}})
	}
	if err := p.pause(); err != nil {
		return err
	}
	p.ended(c.result, false)
	return nil
}

// ask asks for permission. Only an option that proceeds is one.
func (p *player) ask(c *call) error {
	c.asked = p.newID()
	p.send(fields{"type": "request", "id": c.asked, "method": "droid.request_permission", "params": fields{
		"options": c.options, "toolUses": []fields{{"toolUse": c.use(), "confirmationType": c.asks["type"], "details": c.asks}},
	}})
	if err := p.wait(nil, func() bool { return c.answer != "" }); err != nil {
		return err
	}
	if !strings.HasPrefix(c.answer, "proceed_") {
		p.ended(c.refused, true)
		return errRefused
	}
	p.resolved(c.answer, c.id)
	if c.name == "ExitSpecMode" {
		p.mode = "normal"
		p.tell("settings_updated", fields{"settings": p.settings()})
	}
	return nil
}

// resolved says what became of the request that is open, and which calls go on.
func (p *player) resolved(option string, calls ...string) {
	p.tell("permission_resolved", fields{"requestId": p.running.asked, "toolUseIds": append([]string{}, calls...), "selectedOption": option})
	p.running.asked = ""
}

// ended says the result of the call that runs.
func (p *player) ended(result string, failed bool) {
	if p.running.asked != "" {
		p.resolved("cancel")
	}
	p.tell("tool_result", fields{"toolUseId": p.running.id, "messageId": p.newID(), "content": result, "isError": failed})
	p.running = nil
}

func (c *call) use() fields {
	return fields{"type": "tool_use", "id": c.id, "name": c.name, "input": c.input}
}

// tokens are what some calls of the model would have taken.
func tokens(calls int) fields { return fields{"inputTokens": 100 * calls, "outputTokens": 10 * calls} }

func (p *player) newID() string {
	p.ids++
	return fmt.Sprintf("fa4ed801-0000-4000-8000-%012x", p.ids)
}

func (p *player) state(s string) { p.tell("droid_working_state_changed", fields{"newState": s}) }

func (p *player) respond(id string, result fields) {
	p.send(fields{"type": "response", "id": id, "result": result})
}

func (p *player) tell(kind string, f fields) {
	f["type"] = kind
	p.send(fields{"type": "notification", "method": "droid.session_notification", "params": fields{"sessionId": p.session, "notification": f}})
}

// send writes a line as droid does.
func (p *player) send(f fields) {
	f["jsonrpc"], f["factoryApiVersion"], f["factoryProtocolVersion"] = "2.0", "1.0.0", "1.220.0"
	if p.broken == nil {
		p.broken = p.out.Encode(f)
	}
}
