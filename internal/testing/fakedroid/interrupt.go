package fakedroid

import (
	"strings"
	"time"
)

// interrupted writes droid's messages between interrupt_session and the end of the turn. The order depends on the version and on what was
// running (20_*, 20b to 20g).
func (d *Droid) interrupted() error {
	t := d.turn
	if !d.late {
		if err := d.discardQueue(); err != nil {
			return err
		}
	}
	switch {
	case t.asked != "" && !t.question:
		return d.interruptedAsking(t)
	case len(t.open) > 0:
		return d.interruptedTools(t)
	}
	return d.interruptedText(t)
}

// discardQueue drops queued user messages, and reports it once: for several messages with the joined texts and no ID.
func (d *Droid) discardQueue() error {
	if len(d.queue) == 0 {
		return nil
	}
	var texts []string
	for _, p := range d.queue {
		texts = append(texts, p.Text)
	}
	border := "\n\n"
	if d.version.modern() {
		border = "\n"
	}
	f := Fields{"text": strings.Join(texts, border)}
	if d.version.modern() && len(texts) == 1 {
		f["requestId"] = d.queue[0].RequestID
	}
	d.queue = nil
	return d.Notify("queued_messages_discarded", f)
}

func (d *Droid) replyInterrupt(t *turn) error {
	if d.late {
		return nil // see lateInterrupt
	}
	return d.Reply(t.interruptID, Fields{})
}

// lateInterrupt is the part of an interrupt after idle, with WithLateInterrupts.
func (d *Droid) lateInterrupt(id string) error {
	if err := d.Pause(50 * time.Millisecond); err != nil {
		return err
	}
	if err := d.discardQueue(); err != nil {
		return err
	}
	return d.Reply(id, Fields{})
}

// interruptedAsking withdraws the open permission request by permission_resolved only (quirk 19).
func (d *Droid) interruptedAsking(t *turn) error {
	steps := []func() error{func() error { return d.resolved(t.asked, nil, "cancel") }}
	for _, tool := range append([]Tool(nil), t.open...) {
		if d.version.modern() { // two results with different texts (quirk 7)
			steps = append(steps, func() error { return d.result(tool, "Error: Tool execution cancelled by user", true) },
				func() error { return d.rawResult(tool, "Error: Tool execution cancelled: Batch cancelled", true) })
		} else {
			steps = append(steps, func() error { return d.result(tool, "Error: Tool execution cancelled: Batch cancelled", true) },
				func() error { return d.System("llm_only", "Request interrupted by user") })
		}
	}
	return inOrder(append(steps, func() error { return d.replyInterrupt(t) })...)
}

// interruptedTools writes every result twice, with the reply in between.
func (d *Droid) interruptedTools(t *turn) error {
	const text = "Error: Tool execution cancelled by user"
	tools := append([]Tool(nil), t.open...)
	var first, second []func() error
	for _, tool := range tools {
		first = append(first, func() error { return d.result(tool, text, true) })
		second = append(second, func() error { return d.rawResult(tool, text, true) })
	}
	if !d.version.modern() {
		first = append(first, func() error { return d.System("llm_only", "Request interrupted by user") })
	}
	first = append(first, func() error { return d.replyInterrupt(t) })
	return inOrder(append(first, second...)...)
}

// interruptedText keeps the text so far without a snapshot; before the first token 0.225 replies first, and 0.99 also reports an error.
func (d *Droid) interruptedText(t *turn) error {
	reply := func() error { return d.replyInterrupt(t) }
	system := func(visibility, text string) func() error {
		return func() error { return d.System(visibility, text) }
	}
	cancelled, interrupted := "Request cancelled by user", "Request interrupted by user"
	switch {
	case d.version.modern() && t.spoke:
		return inOrder(system("llm_only", cancelled), system("llm_only", interrupted), reply)
	case d.version.modern():
		return inOrder(reply, system("llm_only", cancelled), system("llm_only", interrupted))
	case t.spoke:
		return inOrder(system("llm_only", interrupted), reply, system("both", cancelled))
	}
	return inOrder(system("llm_only", interrupted), reply, system("user_only", "Error: Request was aborted."), system("both", cancelled))
}

// inOrder runs steps until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
