package export

import (
	"slices"
	"strings"
)

// toolCall is a tool call. Non-empty fields are shown in their order.
type toolCall struct {
	Tool   string // display name
	Title  string // what it works on; plain text
	Folded bool   // initially collapsed
	State  callState

	Command   string // that was run
	Input     string // of a tool without a better representation
	Prompt    string // of a subagent; Markdown
	Plan      string // Markdown
	Changes   []fileDiff
	Tasks     []taskEntry
	Questions []questionEntry
	Output    string // of a command
	Cut       bool   // the output is incomplete
	Exit      *int   // exit code; nil if it did not exit by itself
	Note      string // plain text
	Result    string // of other tools
	Answer    string // of a subagent; Markdown

	images []string // data URLs
}

// callState is the outcome of a call. The zero callState is success.
type callState string

// Outcomes other than success.
const (
	callFailed     callState = "failed"
	callUnfinished callState = "not finished" // no result
	callTimedOut   callState = "timed out"
)

// fileDiff is a change to one file.
type fileDiff struct {
	File  string
	Lines []diffLine
}

// diffLine is a line of a unified diff.
type diffLine struct {
	Sign byte   // '+', '-' or ' '; '@' for a hunk header, '\\' for a remark
	Text string // including the sign, without the newline
}

// taskEntry is an entry of a task list.
type taskEntry struct {
	Text   string
	Status string // "pending", "in_progress" or "completed"
}

// questionEntry is a question to the user with the answer.
type questionEntry struct {
	Text    string
	Options []string
	Answer  string // "" if unanswered
}

// addImage adds a base64-encoded image to the result. Unsupported types are omitted.
func (c *toolCall) addImage(mediaType, data string) {
	if url := imageURL(mediaType, data); url != "" {
		c.images = append(c.images, url)
	}
}

// Count returns the numbers of added and removed lines.
func (c fileDiff) Count() (added, removed int) {
	for _, l := range c.Lines {
		switch l.Sign {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// Class returns the CSS class of the line, "" for a context line.
func (l diffLine) Class() string {
	switch l.Sign {
	case '+':
		return "add"
	case '-':
		return "del"
	case '@', '\\':
		return "at"
	}
	return ""
}

// Mark returns a symbol for the status; Text is its text alternative.
func (t taskEntry) Mark() string {
	switch t.Status {
	case "completed":
		return "✓"
	case "in_progress":
		return "▸"
	}
	return "○"
}

// Class returns the CSS class of the task.
func (t taskEntry) Class() string {
	switch t.Status {
	case "completed":
		return "done"
	case "in_progress":
		return "now"
	}
	return "later"
}

// Words returns the status in words.
func (t taskEntry) Words() string { return strings.ReplaceAll(t.Status, "_", " ") }

// Chosen reports whether option is the answer or part of it.
func (q questionEntry) Chosen(option string) bool {
	return q.Answer == option || slices.Contains(strings.Split(q.Answer, ", "), option)
}

// Own returns the user's free-text answer, or "".
func (q questionEntry) Own() string {
	if slices.Contains(q.Options, q.Answer) {
		return ""
	}
	return strings.Join(slices.DeleteFunc(strings.Split(q.Answer, ", "), func(a string) bool { return slices.Contains(q.Options, a) }), ", ")
}
