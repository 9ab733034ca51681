package fakedroid

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// Question is one question of AskUser.
type Question struct {
	Topic, Question string
	Options         []string
	MultiSelect     bool // several options may be selected (0.225)
}

// AskUser plays the AskUser tool: the call, the request, and a result with the answers. It returns the answers in the order of the
// questions, "" for missing ones. A cancelled question ends the turn since 1.206 (ErrRefused); before, the model continues without answers.
func (d *Droid) AskUser(text string, questions ...Question) ([]string, error) {
	t := Tool{ID: "call_" + d.newID()[24:], Name: "AskUser", Input: Fields{"questionnaire": questionnaire(questions)}}
	if err := d.Say("", text, t); err != nil {
		return nil, err
	}
	d.turn.open = []Tool{t}
	err := inOrder(
		func() error { return d.state("executing_tool") },
		func() error { return d.phase(t, "queued") },
		func() error { return d.phase(t, "executing") },
		func() error { return d.state("waiting_for_tool_confirmation") },
	)
	if err != nil {
		return nil, err
	}
	id, err := d.Request("droid.ask_user", Fields{"toolCallId": t.ID, "questions": wireQuestions(questions)})
	if err != nil {
		return nil, err
	}
	d.turn.asked, d.turn.question = id, true
	m, err := d.awaitAnswer(id)
	if err != nil {
		return nil, err
	}
	if err := d.state("streaming_assistant_message"); err != nil {
		return nil, err
	}
	return d.answered(t, questions, m)
}

// answered writes the result of the AskUser call t.
func (d *Droid) answered(t Tool, questions []Question, m *Message) ([]string, error) {
	var result struct {
		Cancelled bool `json:"cancelled"`
		Answers   []struct {
			Index  int    `json:"index"`
			Answer string `json:"answer"`
		} `json:"answers"`
	}
	answers := make([]string, len(questions))
	if m.Error != nil || json.Unmarshal(m.Result, &result) != nil || (!result.Cancelled && len(result.Answers) == 0) {
		return answers, d.result(t, "Error: Invalid response from the client", true) // the turn continues (13_ask_user_error)
	}
	if result.Cancelled {
		if err := d.result(t, "Error: User cancelled the questionnaire", true); err != nil {
			return answers, err
		}
		if d.version.modern() {
			return answers, ErrRefused
		}
		return answers, nil
	}
	var text strings.Builder
	for _, a := range result.Answers {
		if a.Index < 1 || a.Index > len(questions) {
			continue
		}
		answers[a.Index-1] = a.Answer
		fmt.Fprintf(&text, "%d. [question] %s\n[answer] %s\n\n", a.Index, questions[a.Index-1].Question, a.Answer)
	}
	return answers, d.result(t, strings.TrimSpace(text.String()), false)
}

func wireQuestions(questions []Question) []Fields {
	wire := make([]Fields, len(questions))
	for i, q := range questions {
		options := q.Options
		if options == nil {
			options = []string{"Yes", "No"} // as 0.99 and 0.225 do
		}
		wire[i] = Fields{"index": i + 1, "topic": q.Topic, "question": q.Question, "options": options}
		if q.MultiSelect {
			wire[i]["multiSelect"] = true
		}
	}
	return wire
}

func questionnaire(questions []Question) string {
	var b strings.Builder
	for i, q := range questions {
		fmt.Fprintf(&b, "%d. [question] %s\n[topic] %s\n", i+1, q.Question, q.Topic)
		for _, o := range q.Options {
			fmt.Fprintf(&b, "[option] %s\n", o)
		}
	}
	return b.String()
}

// handOff continues in a new session, as 0.225 does after proceed_new_session: the session ID changes during the turn, and a new turn
// without a request of the client executes the plan (quirk 22). A process of 0.99 keeps its IDs.
func (d *Droid) handOff(plan Tool) error {
	if !d.version.modern() {
		return d.state("streaming_assistant_message")
	}
	d.turn.handoff = d.turn.id
	d.turn.id = d.newID()
	d.session, d.parent = uuid.NewString(), "root"
	d.sessions.create(d.session, d.cwd, d.settings)
	if err := d.notifySettings(""); err != nil {
		return err
	}
	if err := d.state("streaming_assistant_message"); err != nil {
		return err
	}
	text := fmt.Sprintf("Implement the following plan:\n\n%s", plan.Input["plan"])
	return d.createMessage(d.turn.id, "user", Fields{"content": []Fields{textBlock(text)}}, "")
}
