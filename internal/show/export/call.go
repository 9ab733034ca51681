package export

import (
	"slices"
	"strings"
)

// Call is a tool call. What it has is shown in the order of its fields; what is empty
// is left out.
type Call struct {
	Tool   string // its name for people
	Title  string // what it works on; plain text
	Folded bool   // only its title is shown until the reader opens it
	State  State

	Command   string // that was run
	Input     string // of a tool that has nothing better to show
	Prompt    string // for a subagent; Markdown
	Plan      string // Markdown
	Changes   []Change
	Tasks     []Task
	Questions []Question
	Output    string // of a command
	Cut       bool   // some of that is missing
	Exit      *int   // its exit code; nil when it did not exit by itself
	Note      string // plain text
	Result    string // of other tools
	Answer    string // of a subagent; Markdown

	images []string // addresses that have the images in them
}

// State is how a call ended. The zero State is that it went well.
type State string

// States of a call other than that it went well.
const (
	Failed     State = "failed"
	Unfinished State = "not finished" // there is no result
	TimedOut   State = "timed out"
)

// Change is what a call changes in one file.
type Change struct {
	File  string
	Lines []Line
}

// Line is a line of a unified diff.
type Line struct {
	Sign byte   // '+', '-' or ' '; '@' for a line that says where the next ones stand, '\\' for a remark
	Text string // with its sign, without its line end
}

// Task is an entry of a list of things to do.
type Task struct {
	Text   string
	Status string // "pending", "in_progress" or "completed"
}

// Question is a question to the user with what they answered.
type Question struct {
	Text    string
	Options []string
	Answer  string // "" when there was none
}

// Image adds an image to the result, its data in base64. One that a page cannot show is
// left out.
func (c *Call) Image(mediaType, data string) {
	if url := imageURL(mediaType, data); url != "" {
		c.images = append(c.images, url)
	}
}

// Count is how many lines the change adds and removes.
func (c Change) Count() (added, removed int) {
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

// Class is the CSS class of the line, "" for one that does not change.
func (l Line) Class() string {
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

// Mark is a sign for the status, and Words says the same for those who do not see it.
func (t Task) Mark() string {
	switch t.Status {
	case "completed":
		return "✓"
	case "in_progress":
		return "▸"
	}
	return "○"
}

// Class is the CSS class of the task.
func (t Task) Class() string {
	switch t.Status {
	case "completed":
		return "done"
	case "in_progress":
		return "now"
	}
	return "later"
}

// Words are the status in words.
func (t Task) Words() string { return strings.ReplaceAll(t.Status, "_", " ") }

// Chosen reports whether the option is the answer, or one of several.
func (q Question) Chosen(option string) bool {
	return q.Answer == option || slices.Contains(strings.Split(q.Answer, ", "), option)
}

// Own is what the user answered in words of their own, "" for nothing.
func (q Question) Own() string {
	if slices.Contains(q.Options, q.Answer) {
		return ""
	}
	return strings.Join(slices.DeleteFunc(strings.Split(q.Answer, ", "), func(a string) bool { return slices.Contains(q.Options, a) }), ", ")
}
