package adapter

import (
	"fmt"
	"strings"
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/quirks"
)

// outputEvery is how often the output of a running command is repeated for
// clients that have no terminals. droid reports it five times a second.
const outputEvery = 100 * time.Millisecond

// command is the view of an Execute call.
type command struct {
	output output
	sent   time.Time // when the output was last repeated
	dirty  bool      // there is more since
}

// Meta of tool calls by which clients that declare _meta.terminal_output show
// the output of commands that the agent runs itself (Zed; field notes acp.md
// §5). The info counts on a tool_call only, the others on updates only.
type toolMeta struct {
	TerminalInfo   *terminalInfo   `json:"terminal_info,omitempty"`
	TerminalOutput *terminalOutput `json:"terminal_output,omitempty"`
	TerminalExit   *terminalExit   `json:"terminal_exit,omitempty"`
}

type terminalInfo struct {
	TerminalID string `json:"terminal_id"`
	CWD        string `json:"cwd"`
}

type terminalOutput struct {
	TerminalID string `json:"terminal_id"`
	Data       string `json:"data"`
}

type terminalExit struct {
	TerminalID string  `json:"terminal_id"`
	ExitCode   *int    `json:"exit_code"`
	Signal     *string `json:"signal"`
}

// terminal is the content that shows the terminal of a call; its id is that of
// the call.
func terminal(id string) toolContent { return toolContent{Type: "terminal", TerminalID: id} }

// commandStarted adds a terminal to the announcement of a command.
func (s *Session) commandStarted(call *toolCall) {
	if !s.agent.client.terminalOutput {
		return
	}
	call.Meta = &toolMeta{TerminalInfo: &terminalInfo{call.ToolCallID, s.cwd}}
	call.Content = []toolContent{terminal(call.ToolCallID)}
}

// commandRuns shows the terminal in place of what the permission request showed.
func (s *Session) commandRuns(call *toolCall) {
	if s.agent.client.terminalOutput {
		call.Content = []toolContent{terminal(call.ToolCallID)}
	}
}

// commandProgress shows what a command has written.
func (s *Session) commandProgress(id string, c *command, u droid.ProgressUpdate) {
	last := c.output.last
	piece := c.output.push(u)
	switch {
	case piece == "" && c.output.last == last:
	case !s.agent.client.terminalOutput:
		c.dirty = true
		s.flushCommand(id, c, time.Now())
	case piece != "":
		s.terminalOutput(id, piece)
	default: // the terminal goes on with the result; until then the last lines stand below it
		s.send(toolCall{SessionUpdate: "tool_call_update", ToolCallID: id,
			Content: []toolContent{terminal(id), textContent(fenced("console", gapMark[1:]+c.output.last))}})
	}
}

func (s *Session) terminalOutput(id, data string) {
	s.send(toolCall{SessionUpdate: "tool_call_update", ToolCallID: id,
		Meta: &toolMeta{TerminalOutput: &terminalOutput{id, data}}})
}

// flushCommand repeats the output, if it changed and it is time to. An editor that
// has enough to read gets it later, in one piece.
func (s *Session) flushCommand(id string, c *command, now time.Time) {
	if !c.dirty || now.Before(c.sent.Add(outputEvery)) {
		return
	}
	c.sent = now
	if s.agent.conn.Full() == nil {
		s.showOutput(id, c)
	}
}

func (s *Session) showOutput(id string, c *command) {
	c.dirty = false
	s.send(toolCall{SessionUpdate: "tool_call_update", ToolCallID: id,
		Content: []toolContent{textContent(fenced("console", c.output.shown()))}})
}

// commandEnded ends a command with its output, once.
func (s *Session) commandEnded(ev quirks.ToolEnded, c *command, update *toolCall) {
	result := parseCommandResult(resultText(ev.Content))
	if result.timedOut {
		update.Status = statusFailed
	}
	if s.agent.client.terminalOutput {
		s.terminalEnded(c, result, update)
		return
	}
	if ev.Unfinished {
		if c.dirty {
			s.showOutput(ev.ID, c)
		}
		return
	}
	text := result.output
	if text == "" {
		text = c.output.shown() // of a command that was stopped
	}
	if strings.TrimSpace(text) != "" {
		update.Content = []toolContent{textContent(fenced("console", text))}
	}
	if result.exitCode != nil && *result.exitCode != 0 {
		result.note = strings.TrimSpace(fmt.Sprintf("Exit code %d\n%s", *result.exitCode, result.note))
	}
	update.Content = append(update.Content, notes(result.note)...)
}

// terminalEnded brings a terminal to the output that the result has. Where the
// terminal does not lead there, as output in between was never reported, the
// result takes its place.
func (s *Session) terminalEnded(c *command, result commandResult, update *toolCall) {
	id := update.ToolCallID
	update.Meta = &toolMeta{TerminalExit: &terminalExit{TerminalID: id, ExitCode: result.exitCode}}
	rest, ok := "", true
	if result.output != "" {
		rest, ok = c.output.rest(result.output)
	}
	switch {
	case !ok:
		update.Content = []toolContent{textContent(fenced("console", result.output))}
	case c.output.text != "" || rest != "" || result.exitCode != nil:
		if rest != "" {
			s.terminalOutput(id, rest)
		}
		update.Content = []toolContent{terminal(id)}
	}
	update.Content = append(update.Content, notes(result.note)...)
}

func notes(note string) []toolContent {
	if note == "" {
		return nil
	}
	return []toolContent{textContent(note)}
}

// fenced makes text a code block of Markdown, between fences longer than any run
// of backticks in it.
func fenced(language, text string) string {
	longest, run := 2, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	return fence + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}
