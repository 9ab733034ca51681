package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// BackgroundCommand is a command that continues in the background after its call has ended, according to the result of the call.
type BackgroundCommand struct {
	PID    int    // process ID, which is also its process group
	Output string // the file with its stdout and stderr
}

// ID identifies the command to clients.
func (l BackgroundCommand) ID() string {
	return strings.TrimSuffix(filepath.Base(l.Output), filepath.Ext(l.Output))
}

// backgroundResult matches that result (droid 0.99 to 0.225). It includes the model's command, which may contain the same words, so the
// last match is droid's.
var backgroundResult = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^Background process started \(PID: ([1-9]\d{0,9})\)\nCommand: .*\nOutput: ([^\n]+)\nStatus: Running in background\n\nNote: [^\n]*$`)
})

// ParseBackgroundResult parses the result of an Execute with fireAndForget. It returns false for a command that has already ended and for
// any other form.
func ParseBackgroundResult(content json.RawMessage) (left BackgroundCommand, ok bool) {
	if !bytes.Contains(content, []byte("Background process started")) { // cheap check first
		return left, false
	}
	m := backgroundResult().FindStringSubmatch(ResultText(content))
	if m == nil {
		return left, false
	}
	id, err := strconv.Atoi(m[1])
	return BackgroundCommand{PID: id, Output: m[2]}, err == nil
}

// RunsInBackground reports whether a call requests a command that continues in the background (fireAndForget).
func RunsInBackground(tool string, input json.RawMessage) bool {
	return tool == "Execute" && string(inputFields(input)["fireAndForget"]) == "true"
}

// ParseCommand returns the command of an Execute.
func ParseCommand(input json.RawMessage) string { return parseToolInput(input).Command }

// backgroundRun describes a command that will continue in the background.
type backgroundRun struct {
	inBackground bool // it is to run in the background
	line         string
	summary      string // written by the model
}

// describe implements toolView.
func (c *commandView) describe(name string, input json.RawMessage, _ *protocol.ToolCall) {
	if RunsInBackground(name, input) {
		c.backgroundRun = backgroundRun{inBackground: true, line: ParseCommand(input)}
		_ = json.Unmarshal(inputFields(input)["summary"], &c.summary) // "" if not a string
	}
}

// Texts about such a command below its call.
const (
	runsOn         = "It runs in the background: `/background`."
	endedWithDroid = "It ran in the background, and ended with droid."
	mayStillRun    = "It ran in the background, and may still run: as process %d, with what it has started."
)

// SetSurvivors sets the commands of the history to be shown next that may still be running after their droid exited.
func (v *View) SetSurvivors(outlived []BackgroundCommand) { v.survivors = outlived }

// showBackground shows the end of a call whose command continues. droid (0.99 to 0.225) claims that the command outlives it, which is not
// so. In a history it is therefore shown as ended, unless it is known to run.
func (c *commandView) showBackground(showBackground BackgroundCommand, update *protocol.ToolCall) {
	before := c.v.background[showBackground.Output]
	if c.v.past && before == nil {
		note := endedWithDroid
		if slices.Contains(c.v.survivors, showBackground) {
			note = fmt.Sprintf(mayStillRun, showBackground.PID)
		}
		c.setNote(update, note)
		c.queueNotice(note)
		if c.v.client.TerminalOutput {
			update.Meta = &protocol.ToolMeta{TerminalExit: &protocol.TerminalExit{TerminalID: c.id}}
		}
		return
	}
	if c.v.background == nil {
		c.v.background = make(map[string]*commandView)
	}
	c.v.background[showBackground.Output] = c
	if before != nil {
		c.output = before.output
		if text := c.output.shown(); c.v.client.TerminalOutput && text != "" {
			c.sendTerminal(text)
		}
	}
	c.setNote(update, runsOn)
	if !c.v.past {
		c.queueNotice(runsOn)
	}
	if c.v.client.AsyncTasks {
		update.Meta = &protocol.ToolMeta{JetBrains: protocol.Backgrounded()}
		c.v.send(protocol.AsyncTask{SessionUpdate: "async_task_spawned", AsyncTaskID: showBackground.ID(), Name: protocol.Line(shorten(FirstLine(c.line), maxTitle)),
			TaskType: "shell", Description: protocol.Line(shorten(c.summary, maxTitle)), ShowInTranscript: new(bool), CanStop: new(true),
			OutputFilePath: showBackground.Output, ToolCallID: c.id})
	}
}

// queueNotice queues the note like View.queueEditNotice, for clients without results.
func (c *commandView) queueNotice(note string) {
	if c.v.client.HidesResults && !c.v.client.TerminalOutput {
		c.v.pendingNotices = append(c.v.pendingNotices, "The command "+markdown.Code(shorten(visible.Line(FirstLine(c.line)), maxTitle))+strings.TrimPrefix(note, "It"))
	}
}

// setNote puts the note below the terminal, or alone.
func (c *commandView) setNote(update *protocol.ToolCall, note string) {
	update.Content = textContent(note)
	if c.v.client.TerminalOutput {
		update.Content = append([]protocol.ToolContent{protocol.TerminalContent(c.id)}, update.Content...)
	}
}

// BackgroundOutput shows new output of a background command in the terminal of its call.
func (v *View) BackgroundOutput(left BackgroundCommand, piece string) []Output {
	c := v.background[left.Output]
	if c == nil || piece == "" {
		return nil
	}
	if v.client.TerminalOutput {
		c.output.add(piece)
		c.sendTerminal(piece)
	}
	if v.client.AsyncTasks {
		lines := strings.Split(strings.TrimRight(piece, "\r\n "), "\n")
		last := strings.TrimSpace(visible.Line(lines[len(lines)-1]))
		if last != "" {
			v.send(protocol.AsyncTask{SessionUpdate: "async_task_progress", AsyncTaskID: left.ID(), Summary: protocol.Line(shorten(last, maxTitle))})
		}
	}
	return v.take()
}

// BackgroundEnded shows that a background command has ended, as the sentence how says; droid does not know its exit code. stopped means
// that it was stopped on request. output is the end of its output, for clients that show tasks but not their output.
func (v *View) BackgroundEnded(left BackgroundCommand, how, output string, stopped bool) []Output {
	c := v.background[left.Output]
	if c == nil {
		return nil
	}
	delete(v.background, left.Output)
	update := protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: c.id}
	below := how
	if v.client.AsyncTasks && !v.client.TerminalOutput {
		below += lastWords(output)
	}
	c.setNote(&update, below)
	if v.client.TerminalOutput {
		update.Meta = &protocol.ToolMeta{TerminalExit: &protocol.TerminalExit{TerminalID: c.id}}
	}
	c.sendMore(update)
	if v.client.AsyncTasks {
		state := protocol.AsyncCompleted
		if stopped {
			state = protocol.AsyncStopped
		}
		v.send(protocol.AsyncTask{SessionUpdate: "async_task_state_update", AsyncTaskID: left.ID(), State: state, Summary: protocol.Line(how)})
	}
	return v.take()
}

// BackgroundEndMessage returns a message about the end of a background command, to be sent before BackgroundEnded; "" for clients with
// terminals and for those that show it in tasks and below the call. output is the end of its output.
func (v *View) BackgroundEndMessage(left BackgroundCommand, line, output string) string {
	if v.client.TerminalOutput || v.client.AsyncTasks && !v.client.HidesResults && v.background[left.Output] != nil {
		return ""
	}
	return "A command that droid ran in the background has ended: " + markdown.Code(shorten(visible.Line(FirstLine(line)), maxTitle)) + lastWords(output)
}

// lastWords returns the end of a command's output, to be appended to a sentence.
func lastWords(output string) string {
	if output = visible.Text(strings.TrimSpace(output)); output == "" {
		return ""
	}
	return "\n\nThe end of its output:\n" + markdown.Fenced("console", output)
}
