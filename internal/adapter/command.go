package adapter

import (
	"fmt"
	"strings"
	"time"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/markdown"
	"droid-acp/internal/protocol"
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

// commandStarted adds a terminal to the announcement of a command.
func (s *Session) commandStarted(call *protocol.ToolCall) {
	if !s.agent.client.TerminalOutput {
		return
	}
	call.Meta = &protocol.ToolMeta{TerminalInfo: &protocol.TerminalInfo{TerminalID: call.ToolCallID, CWD: s.cwd}}
	call.Content = []protocol.ToolContent{protocol.TerminalContent(call.ToolCallID)}
}

// commandRuns shows the terminal in place of what the permission request showed.
func (s *Session) commandRuns(call *protocol.ToolCall) {
	if s.agent.client.TerminalOutput {
		call.Content = []protocol.ToolContent{protocol.TerminalContent(call.ToolCallID)}
	}
}

// commandProgress shows what a command has written.
func (s *Session) commandProgress(id string, c *command, u stream.ProgressUpdate) {
	last := c.output.last
	piece := c.output.push(u)
	switch {
	case piece == "" && c.output.last == last:
	case !s.agent.client.TerminalOutput:
		c.dirty = true
		s.flushCommand(id, c, time.Now())
	case piece != "":
		s.terminalOutput(id, piece)
	default: // the terminal goes on with the result; until then the last lines stand below it
		s.send(protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: id,
			Content: []protocol.ToolContent{protocol.TerminalContent(id), protocol.TextContent(markdown.Fenced("console", gapMark[1:]+c.output.last))}})
	}
}

func (s *Session) terminalOutput(id, data string) {
	s.send(protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: id,
		Meta: &protocol.ToolMeta{TerminalOutput: &protocol.TerminalOutput{TerminalID: id, Data: data}}})
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
	s.send(protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: id,
		Content: []protocol.ToolContent{protocol.TextContent(markdown.Fenced("console", c.output.shown()))}})
}

// commandEnded ends a command with its output, once.
func (s *Session) commandEnded(ev quirks.ToolEnded, c *command, update *protocol.ToolCall) {
	result := parseCommandResult(resultText(ev.Content))
	if result.timedOut {
		update.Status = protocol.StatusFailed
	}
	if s.agent.client.TerminalOutput {
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
		update.Content = []protocol.ToolContent{protocol.TextContent(markdown.Fenced("console", text))}
	}
	if result.exitCode != nil && *result.exitCode != 0 {
		result.note = strings.TrimSpace(fmt.Sprintf("Exit code %d\n%s", *result.exitCode, result.note))
	}
	update.Content = append(update.Content, notes(result.note)...)
}

// terminalEnded brings a terminal to the output that the result has. Where the
// terminal does not lead there, as output in between was never reported, the
// result takes its place.
func (s *Session) terminalEnded(c *command, result commandResult, update *protocol.ToolCall) {
	id := update.ToolCallID
	update.Meta = &protocol.ToolMeta{TerminalExit: &protocol.TerminalExit{TerminalID: id, ExitCode: result.exitCode}}
	rest, ok := "", true
	if result.output != "" {
		rest, ok = c.output.rest(result.output)
	}
	switch {
	case !ok:
		update.Content = []protocol.ToolContent{protocol.TextContent(markdown.Fenced("console", result.output))}
	case c.output.text != "" || rest != "" || result.exitCode != nil:
		if rest != "" {
			s.terminalOutput(id, rest)
		}
		update.Content = []protocol.ToolContent{protocol.TerminalContent(id)}
	}
	update.Content = append(update.Content, notes(result.note)...)
}

func notes(note string) []protocol.ToolContent {
	if note == "" {
		return nil
	}
	return []protocol.ToolContent{protocol.TextContent(note)}
}
