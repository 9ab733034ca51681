package fakedroid

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Subagent is a subagent that the fake pretends to run, as 0.215 and newer do: only its file shows what it does, and droid asks on its
// behalf.
type Subagent struct {
	ID     string // of its session
	Call   string // the model's ID of the Task call that started it
	Name   string
	File   string // path of its session's file; "" writes none
	Parent string // session of its caller; set by Task
}

// NewSubagent returns one whose file has droid's path in a store of sessions.
func (d *Droid) NewSubagent(name, store string) *Subagent {
	s := &Subagent{ID: d.newID(), Call: "call_" + d.newID()[24:], Name: name}
	if store != "" {
		s.File = filepath.Join(store, "-workspace", s.ID+".jsonl")
	}
	return s
}

// Task plays a message of the model with a Task call for each subagent, and announces these. If work is not nil, droid waits for them while
// it runs, and each answers "found it"; otherwise they continue in the background.
func (d *Droid) Task(text string, work func() error, subagents ...*Subagent) error {
	tools := make([]Tool, len(subagents))
	for i, s := range subagents {
		s.Parent = d.session
		tools[i] = Tool{ID: s.Call, Name: "Task", Input: Fields{"subagent_type": "worker", "description": s.Name, "prompt": "look", "run_in_background": work == nil}}
	}
	if err := d.Say("", text, tools...); err != nil {
		return err
	}
	d.turn.open = append([]Tool(nil), tools...)
	if err := d.state("executing_tool"); err != nil {
		return err
	}
	for i, s := range subagents {
		if err := d.phase(tools[i], "executing"); err != nil {
			return err
		}
		if err := d.Announce(s); err != nil {
			return err
		}
		if err := s.Write(Fields{"type": "session_start", "id": s.ID, "title": "Worker: " + s.Name, "callingSessionId": s.Parent, "callingToolUseId": s.Call, "cwd": d.cwd}); err != nil {
			return err
		}
	}
	if work != nil {
		if err := work(); err != nil {
			return err
		}
	}
	for i, s := range subagents {
		result := fmt.Sprintf("session_id: %s\nUse this report as the source of record. [cut]\nfound it", s.ID)
		if work == nil {
			result = fmt.Sprintf("Task launched in background.\ntask_id: %s\nsession_id: %s\n[cut]", s.ID, s.ID)
		}
		if err := d.result(tools[i], result, false); err != nil {
			return err
		}
	}
	return d.state("streaming_assistant_message")
}

// Announce reports that a subagent works.
func (d *Droid) Announce(s *Subagent) error {
	return d.Notify("child_session_available", Fields{"childSessionId": s.ID, "toolUseId": s.Call, "subagentType": "worker",
		"description": s.Name, "timestamp": time.Now().UnixMilli()})
}

// Write adds lines to the subagent's file.
func (s *Subagent) Write(lines ...Fields) error {
	for _, line := range lines {
		var text strings.Builder
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false) // an input is written as in droid's messages
		if err := enc.Encode(line); err != nil {
			return err
		}
		if err := s.WriteText(text.String()); err != nil {
			return err
		}
	}
	return nil
}

// WriteText adds text to the subagent's file, such as a part of a line.
func (s *Subagent) WriteText(text string) error {
	if s.File == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(s.File), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(s.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	return f.Close()
}

// Calls returns the line of a message that calls tools.
func (s *Subagent) Calls(text string, tools ...Tool) Fields {
	content := []Fields{textBlock(text)}
	for _, t := range tools {
		content = append(content, t.use())
	}
	return spoken("assistant", content...)
}

// Result returns the line with the result of a call.
func (s *Subagent) Result(t Tool) Fields {
	return spoken("user", Fields{"type": "tool_result", "tool_use_id": t.ID, "is_error": t.IsError, "content": t.Result})
}

// Answer returns the line with the subagent's last text.
func (s *Subagent) Answer(text string) Fields { return spoken("assistant", textBlock(text)) }

// Outcome returns the line that ends its turn.
func (s *Subagent) Outcome(reason string) Fields {
	return Fields{"type": "agent_turn_outcome", "reason": reason, "resultKind": "text"}
}

func spoken(role string, content ...Fields) Fields {
	return Fields{"type": "message", "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "message": Fields{"role": role, "content": content}}
}

// Asks requests permission for a tool on behalf of a subagent, and returns the ID of the request.
func (d *Droid) Asks(s *Subagent, t Tool) (id string, err error) {
	if err := d.state("waiting_for_tool_confirmation"); err != nil {
		return "", err
	}
	details := Fields{"type": t.Confirmation}
	for name, value := range t.Details {
		details[name] = value
	}
	id, err = d.Request("droid.request_permission", Fields{
		"toolUses": []Fields{{"toolUse": t.use(), "confirmationType": t.Confirmation, "details": details}},
		"options":  d.options(t), "associatedSessionIds": []string{s.ID, s.Parent}})
	d.foreign[id] = true
	return id, err
}

// AwaitAnswerOrPrompt answers the client until the request of a subagent is answered, or there is a user message.
func (d *Droid) AwaitAnswerOrPrompt(id string) (answered bool, err error) {
	for d.early[id] == nil && len(d.queue) == 0 {
		if _, err := d.next(-1); err != nil {
			return false, err
		}
	}
	return d.early[id] != nil, nil
}

// Answered waits for the answer to a request of a subagent, and reports it.
func (d *Droid) Answered(id string, t Tool) (option string, err error) {
	for {
		if m, came := d.early[id]; came {
			delete(d.early, id)
			return d.tellAnswer(m, t)
		}
		if _, err := d.next(-1); err != nil {
			return "", err
		}
	}
}

// tellAnswer reports the outcome of a request of a subagent.
func (d *Droid) tellAnswer(m *Message, t Tool) (option string, err error) {
	var result struct{ SelectedOption string }
	_ = json.Unmarshal(m.Result, &result) // droid treats an invalid answer as cancel
	ids := []string{t.ID}
	if option = result.SelectedOption; m.Error != nil || option == "" || option == "cancel" {
		option, ids = "cancel", nil
	}
	if err := d.state("executing_tool"); err != nil {
		return "", err
	}
	return option, d.resolved(m.ID, ids, option)
}

// Report plays the turn that a background subagent begins when it has ended.
func (d *Droid) Report(s *Subagent, reason, answer string, body func() error) error {
	id := "task-completion:" + d.newID()
	d.turn = &turn{id: id, session: d.session, reason: "completed"}
	if err := d.state("streaming_assistant_message"); err != nil {
		return err
	}
	text := fmt.Sprintf("Background task completed.\ntask_id: %s\ntype: worker\nreason: %s\ndescription: %s\noutput: %s\n\nBackground task %q (%s) just completed. [cut]",
		s.ID, reason, s.Name, answer, s.Name, s.ID)
	if err := d.createMessage(id, "system", Fields{"content": []Fields{textBlock(text)}, "visibility": "llm_only"}, id); err != nil {
		return err
	}
	return d.play(body)
}
