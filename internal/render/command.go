package render

import (
	"fmt"
	"strings"
	"time"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/markdown"
)

// OutputEvery is the interval at which the output of a running command is resent to clients without terminals. droid reports output five
// times per second.
const OutputEvery = 100 * time.Millisecond

// commandView is the view of an Execute call.
type commandView struct {
	*shownCall
	backgroundRun // if it continues in the background
	output        commandOutput
	lastSent      time.Time // last time the output was sent
	dirty         bool      // there is unsent output
}

func newCommand(c *shownCall) toolView { return &commandView{shownCall: c} }

// commandTitle returns the whole command.
func commandTitle(in toolInput) string { return in.Command }

// announced adds a terminal to the announcement.
func (c *commandView) announced(shown *protocol.ToolCall) {
	if !c.v.client.TerminalOutput {
		return
	}
	shown.Meta = &protocol.ToolMeta{TerminalInfo: &protocol.TerminalInfo{TerminalID: c.id, CWD: c.v.cwd}}
	shown.Content = []protocol.ToolContent{protocol.TerminalContent(c.id)}
}

// running replaces the content of the permission request by the terminal.
func (c *commandView) running(update *protocol.ToolCall) {
	if c.v.client.TerminalOutput {
		update.Content = []protocol.ToolContent{protocol.TerminalContent(c.id)}
	}
}

// progress shows new output.
func (c *commandView) progress(m Moment, u stream.ProgressUpdate) {
	last := c.output.last
	piece := c.output.push(u)
	switch {
	case piece == "" && c.output.last == last:
	case !c.v.client.TerminalOutput:
		c.dirty = true
		c.flush(m)
	case piece != "":
		c.sendTerminal(piece)
	default: // the result completes the terminal; until then show the last lines below it
		c.sendContent(protocol.TerminalContent(c.id), protocol.TextContent(markdown.Fenced("console", gapMark[1:]+c.output.last)))
	}
}

// wrote shows output that continues what was shown.
func (c *commandView) wrote(m Moment, piece string) {
	if c.v.client.TerminalOutput {
		c.sendTerminal(piece)
		return
	}
	c.output.add(piece)
	c.dirty = true
	c.flush(m)
}

// sendTerminal appends output to the call's terminal.
func (c *commandView) sendTerminal(data string) {
	c.v.send(protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: c.id,
		Meta: &protocol.ToolMeta{TerminalOutput: &protocol.TerminalOutput{TerminalID: c.id, Data: data}}})
}

func (c *commandView) due() (time.Time, bool) { return c.lastSent.Add(OutputEvery), c.dirty }

// flush resends changed output at most every OutputEvery, and only if the client has room; otherwise it is sent later in one piece.
func (c *commandView) flush(m Moment) {
	if !c.dirty || m.Now.Before(c.lastSent.Add(OutputEvery)) {
		return
	}
	c.lastSent = m.Now
	if m.HasRoom {
		c.repeat()
	}
}

func (c *commandView) repeat() {
	c.dirty = false
	c.sendContent(protocol.TextContent(markdown.Fenced("console", c.output.shown())))
}

// ended completes the update with the output, without repeating it.
func (c *commandView) ended(ev quirks.ToolEnded, update *protocol.ToolCall) {
	if c.inBackground && !ev.IsError {
		if left, ok := ParseBackgroundResult(ev.Content); ok {
			c.showBackground(left, update)
			return
		}
	}
	result := ParseCommandResult(ev.Content)
	if result.TimedOut {
		update.Status = protocol.StatusFailed
	}
	if c.v.client.TerminalOutput {
		c.terminalEnded(result, update)
		return
	}
	if ev.Unfinished {
		if c.dirty {
			c.repeat()
		}
		return
	}
	text := result.Output
	if text == "" {
		text = c.output.shown() // the command was stopped
	}
	if strings.TrimSpace(text) != "" {
		update.Content = []protocol.ToolContent{protocol.TextContent(markdown.Fenced("console", text))}
	}
	if result.Exit != nil && *result.Exit != 0 {
		result.Note = strings.TrimSpace(fmt.Sprintf("Exit code %d\n%s", *result.Exit, result.Note))
	}
	update.Content = append(update.Content, textContent(result.Note)...)
}

// terminalEnded completes the terminal from the result. If output in between was never reported, the result replaces the terminal.
func (c *commandView) terminalEnded(result CommandResult, update *protocol.ToolCall) {
	id := c.id
	update.Meta = &protocol.ToolMeta{TerminalExit: &protocol.TerminalExit{TerminalID: id, ExitCode: result.Exit}}
	rest, ok := "", true
	if result.Output != "" {
		rest, ok = c.output.rest(result.Output)
	}
	switch {
	case !ok:
		update.Content = []protocol.ToolContent{protocol.TextContent(markdown.Fenced("console", result.Output))}
	case c.output.text != "" || rest != "" || result.Exit != nil:
		if rest != "" {
			c.sendTerminal(rest)
		}
		update.Content = []protocol.ToolContent{protocol.TerminalContent(id)}
	}
	update.Content = append(update.Content, textContent(result.Note)...)
}
