package quirks

import (
	"fmt"
	"strings"

	"droid-acp/internal/droid/stream"
)

// checker checks that a stream of events keeps the promises in event.go.
type checker struct {
	err error // the first broken promise

	begun, ended, folded map[string]int // prompts by request id
	started              map[string]int
	tools                map[string]*toolState
	ask                  string // open request, "" when none
	asked                map[string]bool
	texts                map[string]*[2]strings.Builder // by message id: text, thinking
	retracted            map[string]bool
	subagents            map[string]bool // that began, and whether they have not ended
	ofSubagent           bool            // the open request is
	last                 struct {
		title string
		usage UsageChanged
	}
}

type toolState struct{ input, running, ended bool }

func newChecker() *checker {
	return &checker{
		begun: map[string]int{}, ended: map[string]int{}, folded: map[string]int{}, started: map[string]int{},
		tools: map[string]*toolState{}, asked: map[string]bool{},
		texts: map[string]*[2]strings.Builder{}, retracted: map[string]bool{}, subagents: map[string]bool{},
	}
}

func (c *checker) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

func (c *checker) begin(requestID string) { c.begun[requestID]++ }
func (c *checker) abort(requestID string) { c.begun[requestID]-- }

func (c *checker) answer(requestID string) {
	if c.ask == requestID {
		c.ask = ""
	}
}

func (c *checker) event(ev Event) {
	if in, is := ev.(InSubagent); is {
		ev = in.Event
	}
	switch ev := ev.(type) {
	case TurnStarted:
		if c.started[ev.RequestID]++; c.started[ev.RequestID] > 1 && ev.RequestID != "" {
			c.fail("turn of prompt %q started twice", ev.RequestID)
		}
	case PromptMerged:
		c.folded[ev.RequestID]++
	case Text:
		c.text(ev)
	case TextRetracted:
		if c.texts[ev.MessageID] == nil || c.retracted[ev.MessageID] {
			c.fail("retracted message %q has no text", ev.MessageID)
		}
		c.retracted[ev.MessageID] = true
	case TextRestarted:
		c.restarted(ev)
	case ToolStarted, ToolInput, ToolRunning, ToolProgress, ToolEnded:
		c.tool(ev)
	case PermissionRequested:
		c.opened(ev.RequestID)
		c.ofSubagent = ev.Subagent != ""
		for _, u := range ev.Tools {
			if c.tools[u.ToolUse.ID] == nil {
				c.fail("permission for tool %q that was not started", u.ToolUse.ID)
			}
		}
	case QuestionRequested:
		c.opened(ev.RequestID)
		c.ofSubagent = false
	case SubagentStarted:
		c.subagents[ev.ID] = true
	case SubagentEnded:
		if !c.subagents[ev.ID] {
			c.fail("subagent %q ended, which did not work", ev.ID)
		}
		c.subagents[ev.ID] = false
	case RequestWithdrawn:
		if c.ask != ev.RequestID {
			c.fail("request %q withdrawn while %q is open", ev.RequestID, c.ask)
		}
		c.ask = ""
	case TitleChanged:
		if ev.Title == c.last.title {
			c.fail("title %q repeated", ev.Title)
		}
		c.last.title = ev.Title
	case UsageChanged:
		if ev == c.last.usage {
			c.fail("usage repeated")
		}
		c.last.usage = ev
	case TurnEnded:
		c.turnEnded(ev)
	}
}

func (c *checker) text(ev Text) {
	if ev.Text == "" || c.retracted[ev.MessageID] {
		c.fail("text %q for message %q, retracted %t", ev.Text, ev.MessageID, c.retracted[ev.MessageID])
	}
	if c.texts[ev.MessageID] == nil {
		c.texts[ev.MessageID] = new([2]strings.Builder)
	}
	c.texts[ev.MessageID][kindOf(ev.Thought)].WriteString(ev.Text)
}

// restarted drops the text that is void.
func (c *checker) restarted(ev TextRestarted) {
	t := c.texts[ev.MessageID]
	if t == nil || ev.Void < 0 || ev.VoidThought < 0 || ev.Void+ev.VoidThought == 0 {
		c.fail("restarted message %q: %+v", ev.MessageID, ev)
		return
	}
	for i, void := range []int{ev.Void, ev.VoidThought} {
		rest := t[i].String()[void:]
		t[i].Reset()
		t[i].WriteString(rest)
	}
	if t[0].String() != ev.Text {
		c.fail("restarted message %q has %q, not %q", ev.MessageID, t[0].String(), ev.Text)
	}
}

func (c *checker) tool(ev Event) {
	switch ev := ev.(type) {
	case ToolStarted:
		if c.tools[ev.ID] != nil {
			c.fail("tool %q started twice", ev.ID)
		}
		c.tools[ev.ID] = &toolState{}
	case ToolInput:
		if t := c.openTool(ev.ID); t.input || t.running {
			c.fail("input of tool %q twice, or after it ran", ev.ID)
		} else {
			t.input = true
		}
	case ToolRunning:
		if t := c.openTool(ev.ID); t.running {
			c.fail("tool %q runs twice", ev.ID)
		} else {
			t.running = true
		}
	case ToolProgress:
		if !c.openTool(ev.ID).running {
			c.fail("tool %q has progress but does not run", ev.ID)
		}
	case ToolEnded:
		c.openTool(ev.ID).ended = true
	}
}

func (c *checker) openTool(id string) *toolState {
	t := c.tools[id]
	if t == nil || t.ended {
		c.fail("event for tool %q, which is not open", id)
		return &toolState{}
	}
	return t
}

func (c *checker) opened(requestID string) {
	if c.ask != "" || c.asked[requestID] {
		c.fail("request %q while %q is open, asked before: %t", requestID, c.ask, c.asked[requestID])
	}
	c.ask = requestID
	c.asked[requestID] = true
}

func (c *checker) turnEnded(ev TurnEnded) {
	c.ended[ev.RequestID]++
	if c.begun[ev.RequestID]+c.started[ev.RequestID] == 0 {
		c.fail("turn of prompt %q ended without having begun", ev.RequestID)
	}
	if (ev.Outcome == Failed) != (ev.Failure != nil) {
		c.fail("outcome %s with failure %v", ev.Outcome, ev.Failure)
	}
	if c.started[ev.RequestID] > 0 { // else another one may run
		c.quiet(false)
	}
}

// quiet checks that no tool and no request is open, of subagents only where these are to be over, too.
func (c *checker) quiet(subagents bool) {
	for id, t := range c.tools {
		of, _, _ := strings.Cut(id, ".")
		if _, is := c.subagents[of]; !t.ended && (subagents || !is) {
			c.fail("tool %q is still open", id)
		}
	}
	if c.ask != "" && (subagents || !c.ofSubagent) {
		c.fail("request %q is still open", c.ask)
	}
	for id, works := range c.subagents {
		if works && subagents {
			c.fail("subagent %q has not ended", id)
		}
	}
}

// over checks what must hold when droid is gone.
func (c *checker) over() {
	c.quiet(true)
	for id, n := range c.begun {
		if n != c.ended[id] {
			c.fail("prompt %q begun %d times, ended %d, folded %d", id, n, c.ended[id], c.folded[id])
		}
	}
}

// snapshot checks that the text under the last id of a message is the snapshot.
func (c *checker) snapshot(m stream.Message) {
	var want [2]string
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			want[0] += b.Text
		case "thinking":
			want[1] += b.Thinking
		}
	}
	var got [2]string
	if t := c.texts[c.lastID(m.ID)]; t != nil {
		got = [2]string{t[0].String(), t[1].String()}
	}
	if want[1] == "" {
		got[1] = "" // a version may keep thinking out of its history
	}
	if got != want {
		c.fail("message %q is %q, sent %q", m.ID, want, got)
	}
}

// lastID is the id that the newest attempt of a message goes by.
func (c *checker) lastID(id string) string {
	last := id
	for i := 2; c.retracted[last]; i++ {
		last = fmt.Sprintf("%s~%d", id, i)
	}
	return last
}
