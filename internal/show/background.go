package show

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

// Left is a command that droid has left running in the background as its call ended, as the call's result tells it.
type Left struct {
	Process int    // its id, which is also that of its process group
	Output  string // the file with what it writes to stdout and stderr
}

// ID names it to clients.
func (l Left) ID() string { return strings.TrimSuffix(filepath.Base(l.Output), filepath.Ext(l.Output)) }

// leftForm is droid's form of that result (0.99 to 0.225). The command stands in it as the model gave it, and may hold
// the same words: the last ones are droid's.
var leftForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^Background process started \(PID: ([1-9]\d{0,9})\)\nCommand: .*\nOutput: ([^\n]+)\nStatus: Running in background\n\nNote: [^\n]*$`)
})

// LeftRunning reads the result of an Execute with fireAndForget. ok is false for a command that has ended at once, and
// for all that has another form.
func LeftRunning(content json.RawMessage) (left Left, ok bool) {
	if !bytes.Contains(content, []byte("Background process started")) { // nearly all
		return left, false
	}
	m := leftForm().FindStringSubmatch(ResultText(content))
	if m == nil {
		return left, false
	}
	id, err := strconv.Atoi(m[1])
	return Left{Process: id, Output: m[2]}, err == nil
}

// LeavesRunning reports whether a call of a tool asks for a command that goes on in the background (fireAndForget).
func LeavesRunning(tool string, input json.RawMessage) bool {
	return tool == "Execute" && string(inputFields(input)["fireAndForget"]) == "true"
}

// CommandOf is the command of an Execute.
func CommandOf(input json.RawMessage) string { return parseToolInput(input).Command }

// forgotten is what the view of a command knows of one that is to go on in the background.
type forgotten struct {
	forget  bool // it is to
	line    string
	summary string // the model's
}

// describe implements toolView.
func (c *command) describe(name string, input json.RawMessage, _ *protocol.ToolCall) {
	if LeavesRunning(name, input) {
		c.forgotten = forgotten{forget: true, line: CommandOf(input)}
		_ = json.Unmarshal(inputFields(input)["summary"], &c.summary) // what is no text is none
	}
}

// What is said of such a command below its call.
const (
	runsOn         = "It runs in the background: `/background`."
	endedWithDroid = "It ran in the background, and ended with droid."
	mayStillRun    = "It ran in the background, and may still run: as process %d, with what it has started."
)

// StillRun notes which commands of a history that is about to be shown may still run, though their droid is gone.
func (v *View) StillRun(outlived []Left) { v.outlived = outlived }

// left shows the end of a call whose command goes on. droid says that it goes on when droid has ended; it does not
// (0.99 to 0.225). In a history it is one that has ended, unless it is known to run.
func (c *command) left(left Left, update *protocol.ToolCall) {
	before := c.v.left[left.Output]
	if c.v.past && before == nil {
		note := endedWithDroid
		if slices.Contains(c.v.outlived, left) {
			note = fmt.Sprintf(mayStillRun, left.Process)
		}
		c.shows(update, note)
		c.tellLater(note)
		if c.v.client.TerminalOutput {
			update.Meta = &protocol.ToolMeta{TerminalExit: &protocol.TerminalExit{TerminalID: c.id}}
		}
		return
	}
	if c.v.left == nil {
		c.v.left = make(map[string]*command)
	}
	c.v.left[left.Output] = c
	if before != nil {
		c.output = before.output
		if text := c.output.shown(); c.v.client.TerminalOutput && text != "" {
			c.sendTerminal(text)
		}
	}
	c.shows(update, runsOn)
	if !c.v.past {
		c.tellLater(runsOn)
	}
	if c.v.client.AsyncTasks {
		update.Meta = &protocol.ToolMeta{JetBrains: protocol.Backgrounded()}
		c.v.send(protocol.AsyncTask{SessionUpdate: "async_task_spawned", AsyncTaskID: left.ID(), Name: protocol.Line(shorten(FirstLine(c.line), maxTitle)),
			TaskType: "shell", Description: protocol.Line(shorten(c.summary, maxTitle)), ShowInTranscript: new(bool), CanStop: new(true),
			OutputFilePath: left.Output, ToolCallID: c.id})
	}
}

// tellLater has what is said of the command told as View.tellLater does.
func (c *command) tellLater(note string) {
	if c.v.client.NoResults && !c.v.client.TerminalOutput {
		c.v.unseen = append(c.v.unseen, "The command "+markdown.Code(shorten(visible.Line(FirstLine(c.line)), maxTitle))+strings.TrimPrefix(note, "It"))
	}
}

// shows puts what is said of the command below its terminal, or alone.
func (c *command) shows(update *protocol.ToolCall, note string) {
	update.Content = textContent(note)
	if c.v.client.TerminalOutput {
		update.Content = append([]protocol.ToolContent{protocol.TerminalContent(c.id)}, update.Content...)
	}
}

// LeftWrote shows what a command in the background has written since, for who sees it: in the terminal of its call.
func (v *View) LeftWrote(left Left, piece string) []Output {
	c := v.left[left.Output]
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

// LeftEnded shows that a command in the background has ended. how says so in a sentence: droid does not know its exit
// code, so nothing is said of that. stopped is that somebody had it end. output is the end of what it wrote, for a client that
// shows its tasks and not what these write.
func (v *View) LeftEnded(left Left, how, output string, stopped bool) []Output {
	c := v.left[left.Output]
	if c == nil {
		return nil
	}
	delete(v.left, left.Output)
	update := protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: c.id}
	below := how
	if v.client.AsyncTasks && !v.client.TerminalOutput {
		below += lastWords(output)
	}
	c.shows(&update, below)
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

// LeftMessage is what a client is told of the end of a command in the background, before LeftEnded; "" for one that has terminals,
// or sees that in its tasks and below the call. output is the end of what it wrote.
func (v *View) LeftMessage(left Left, line, output string) string {
	if v.client.TerminalOutput || v.client.AsyncTasks && !v.client.NoResults && v.left[left.Output] != nil {
		return ""
	}
	return "A command that droid ran in the background has ended: " + markdown.Code(shorten(visible.Line(FirstLine(line)), maxTitle)) + lastWords(output)
}

// lastWords is the end of what a command wrote, behind a sentence.
func lastWords(output string) string {
	if output = visible.Text(strings.TrimSpace(output)); output == "" {
		return ""
	}
	return "\n\nThe end of its output:\n" + markdown.Fenced("console", output)
}
