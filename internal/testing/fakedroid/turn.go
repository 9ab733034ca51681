package fakedroid

import (
	"errors"
	"maps"
	"strings"
	"time"
)

// ErrRefused ends the body of a turn whose permission the user refused: droid does not call the model again, the turn ends as completed
// (quirk 4).
var ErrRefused = errors.New("permission refused")

// turn is the running turn.
type turn struct {
	id          string   // of its user message
	session     string   // that it began in
	interruptID string   // request that interrupted it, "" while none has
	asked       string   // open request to the client
	question    bool     // asked is ask_user, not request_permission
	open        []Tool   // tools without a result
	folded      []string // user messages that were merged into it
	spoke       bool     // a delta was sent
	reason      string   // for agent_turn_completed
	newSession  bool     // the user wants the plan executed in a new session
	handoff     string   // ID of the turn that a new session continues
}

// Turn plays one turn: the echo of p, body, and the end. body must return errors of the building blocks unchanged: an interrupt and a
// refusal end the turn, not the script.
func (d *Droid) Turn(p Prompt, body func() error) error {
	if err := d.beginTurn(p); err != nil {
		return err
	}
	return d.play(body)
}

// play plays the turn that has begun, and its end.
func (d *Droid) play(body func() error) error {
	err := body()
	if errors.Is(err, errInterrupted) {
		if err := d.interrupted(); err != nil {
			return err
		}
		id := d.turn.interruptID
		if err := d.endTurn("cancelled"); err != nil || !d.late {
			return err
		}
		return d.lateInterrupt(id)
	}
	if err != nil && !errors.Is(err, ErrRefused) {
		d.turn = nil
		return err
	}
	return d.endTurn(d.turn.reason)
}

func (d *Droid) beginTurn(p Prompt) error {
	id := p.MessageID
	if id == "" {
		id = d.newID()
	}
	d.turn = &turn{id: id, session: d.session, reason: "completed"}
	past, _ := d.sessions.find(d.session)
	first := len(past.messages) == 0
	if err := d.state("streaming_assistant_message"); err != nil {
		return err
	}
	if d.version.modern() && first {
		d.parent = "root"
		if err := d.createMessage("context-"+id, "user", Fields{"content": []any{}, "visibility": "llm_only"}, ""); err != nil {
			return err
		}
	}
	message := Fields{"content": []Fields{textBlock(p.Text)}}
	if p.Hidden {
		message["visibility"] = "llm_only"
	}
	if err := d.createMessage(id, "user", message, p.RequestID); err != nil {
		return err
	}
	if first && !d.version.modern() {
		return d.Notify("session_title_updated", Fields{"title": p.Text})
	}
	return nil
}

// endTurn reports the end of the turn, and idle.
func (d *Droid) endTurn(reason string) error {
	t := d.turn
	d.turn = nil
	if err := d.turnCompleted(reason, t.id); err != nil {
		return err
	}
	if err := d.state("idle"); err != nil {
		return err
	}
	if t.handoff != "" && d.version.modern() {
		session := d.session
		d.session = t.session
		err := d.turnCompleted("spec_handoff", t.handoff)
		d.session = session
		if err != nil {
			return err
		}
	}
	if !d.version.modern() {
		return d.tokenUsage()
	}
	return nil
}

func (d *Droid) turnCompleted(reason, turnID string) error {
	if !d.version.modern() {
		return nil
	}
	none := Fields{"inputTokens": 0, "outputTokens": 0, "cacheCreationTokens": 0, "cacheReadTokens": 0, "thinkingTokens": 0, "factoryCredits": 0}
	turn := tokens(d.usage - d.ended)
	d.ended = d.usage
	return d.Notify("agent_turn_completed", Fields{
		"reason": reason, "turnId": turnID, "tokenUsage": turn, "cumulativeTokenUsage": d.tokens(),
		"childTokenUsage": none, "cumulativeChildTokenUsage": none, "durationMs": 265,
	})
}

func (d *Droid) tokens() Fields { return tokens(d.usage) }

// tokens returns the usage of a number of model calls.
func tokens(calls int) Fields {
	return Fields{"inputTokens": 100 * calls, "outputTokens": 10 * calls, "cacheCreationTokens": 0, "cacheReadTokens": 0, "thinkingTokens": 0, "factoryCredits": 0}
}

func (d *Droid) tokenUsage() error {
	return d.Notify("session_token_usage_changed", Fields{
		"sessionId": d.session, "tokenUsage": d.tokens(), "inclusiveTokenUsage": d.tokens(),
		"lastCallTokenUsage": Fields{"inputTokens": 100, "outputTokens": 10, "cacheReadTokens": 0},
	})
}

// state reports a working state. Versions before 1.206 do not have "thinking".
func (d *Droid) state(s string) error {
	if s == "thinking" && !d.version.modern() {
		return nil
	}
	return d.Notify("droid_working_state_changed", Fields{"newState": s})
}

// createMessage writes the snapshot of a message and makes it the last one.
func (d *Droid) createMessage(id, role string, f Fields, requestID string) error {
	m := Fields{"id": id, "role": role, "createdAt": 1795229644628, "updatedAt": 1795229644628, "parentId": d.parent}
	maps.Copy(m, f)
	d.parent = id
	d.sessions.add(d.session, m)
	n := Fields{"message": m}
	if requestID != "" {
		n["requestId"] = requestID
	}
	return d.Notify("create_message", n)
}

// System writes a message of role system; visibility is llm_only, user_only or
// both.
func (d *Droid) System(visibility, text string) error {
	return d.createMessage(d.newID(), "system", Fields{"content": []Fields{textBlock(text)}, "visibility": visibility}, "")
}

// Structured reports the text of the last message in the form of the prompt's schema. Call it after Say.
func (d *Droid) Structured(output any) error {
	return d.Notify("structured_output", Fields{"messageId": d.parent, "structuredOutput": output})
}

// Fail reports a failed model call as droid does, twice (quirk 29), and sets the turn's reason. The body of the turn must return after it.
func (d *Droid) Fail(reason, message, advice string) error {
	d.turn.reason = reason
	if err := d.Notify("error", Fields{
		"message": message, "errorType": "Error", "timestamp": "2026-11-21T03:23:43.615Z",
		"error": Fields{"name": "Error", "message": message},
	}); err != nil {
		return err
	}
	return d.System("user_only", advice)
}

func textBlock(text string) Fields { return Fields{"type": "text", "text": text} }

// Pause waits while answering the client. It returns errors for an interrupt and for the end of the input, which the script must return.
func (d *Droid) Pause(wait time.Duration) error {
	deadline := time.Now().Add(wait)
	for {
		m, err := d.next(max(0, time.Until(deadline)))
		if err != nil {
			return err
		}
		if m == nil && !time.Now().Before(deadline) {
			return nil
		}
	}
}

// Silence writes nothing until the turn is interrupted or the input ends.
func (d *Droid) Silence() error {
	for {
		if _, err := d.next(-1); err != nil {
			return err
		}
	}
}

// Say streams one message of the model: its thinking, its text and its tool
// calls, then the snapshot. It does not run the tools.
func (d *Droid) Say(thinking, text string, tools ...Tool) error {
	id, index := d.newID(), 0
	var content []Fields
	if err := d.state("thinking"); err != nil {
		return err
	}
	if thinking != "" {
		if err := d.stream("thinking", id, index, thinking); err != nil {
			return err
		}
		content = append(content, Fields{"type": "thinking", "thinking": thinking, "signature": "reasoning_content"})
		index++
	}
	if err := d.streamingAgain(); err != nil {
		return err
	}
	if text != "" {
		if err := d.stream("assistant", id, index, text); err != nil {
			return err
		}
		content = append(content, textBlock(text))
	}
	for _, t := range tools {
		if err := d.announce(t); err != nil {
			return err
		}
		content = append(content, t.use())
	}
	if err := d.createMessage(id, "assistant", Fields{"content": content, "modelId": d.settings.model}, ""); err != nil {
		return err
	}
	d.usage++
	if len(tools) > 0 || !d.version.modern() {
		return nil
	}
	return d.tokenUsage()
}

// streamingAgain ends the thinking state of the versions that have it.
func (d *Droid) streamingAgain() error {
	if !d.version.modern() {
		return nil
	}
	return d.state("streaming_assistant_message")
}

// stream writes text in pieces of one word; kind is "assistant" or "thinking".
func (d *Droid) stream(kind, messageID string, index int, text string) error {
	for _, piece := range strings.SplitAfter(text, " ") {
		if err := d.Pause(d.pace); err != nil {
			return err
		}
		d.turn.spoke = true
		if err := d.Notify(kind+"_text_delta", Fields{"messageId": messageID, "blockIndex": index, "textDelta": piece}); err != nil {
			return err
		}
	}
	if !d.version.modern() {
		return nil
	}
	return d.Notify(kind+"_text_complete", Fields{"messageId": messageID, "blockIndex": index})
}
