package show

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

const (
	// maxReplaced bounds the text that replacing makes, in bytes: a short text in
	// many places may become a long one in each.
	maxReplaced = 4 << 20
	// maxScanned bounds how many bytes are searched for replacements, a text as often as
	// it is searched; some 100 ms of work.
	maxScanned = 128 << 20
	// maxChanges and maxShown bound the changes of one call that are shown, by their
	// number and in bytes. The others are told.
	maxChanges = 100
	maxShown   = 4 << 20
	// maxNames bounds the names in a sentence.
	maxNames = 10
	// maxDiff bounds what one diff shows, old and new together, in bytes. Of larger
	// files only the lines that change are shown.
	maxDiff = 1 << 20
	// maxBeginning bounds what is shown of a change that is longer than that, in
	// bytes.
	maxBeginning = 16 << 10
)

// edit is the view of a call that changes files.
type edit struct {
	*shownCall
	changes []change
	files   Files // read when the call began, for when its input is described
}

func newEdit(c *shownCall) toolView { return &edit{shownCall: c, files: c.v.files} }

// describe notes what the call is about to change, and names the files where the
// input does not.
func (e *edit) describe(name string, input json.RawMessage, shown *protocol.ToolCall) {
	if e.v.files == nil {
		e.v.files = e.files
		defer func() { e.v.files = nil }()
	}
	e.changes, e.files = e.v.plannedChanges(name, input), nil
	if len(e.changes) == 0 {
		return
	}
	if shown.Locations == nil {
		shown.Title += protocol.Line(" " + fileNames(e.v.cwd, e.changes, nil))
	}
	shown.Locations = changeLocations(e.changes)
}

func (e *edit) planned() []change { return e.changes }

// asked takes droid's own word on the changes, which may know better: see askedChanges.
func (e *edit) asked(_ stream.PermissionToolUse, changes []change) (keep bool) {
	e.changes = changes
	return true
}

// ended shows what an edit has changed, or was refused to change.
func (e *edit) ended(ev quirks.ToolEnded, update *protocol.ToolCall) {
	if ev.Unfinished {
		return
	}
	var without []change
	if update.Status == protocol.StatusCompleted {
		e.changes, without = e.v.done(e.changes, ev.Content)
	}
	update.Content = diffs(e.v.cwd, e.changes)
	if len(without) > 0 {
		update.Content = append(update.Content, protocol.TextContent(notChanged(e.v.cwd, without, ev.Content)))
	}
	update.Locations = changeLocations(e.changes)
	if update.Status == protocol.StatusFailed || len(e.changes) == 0 {
		failed := FailedEdit{ev.ID, slices.Clone(update.Content), fileNames(e.v.cwd, e.changes, nil)}
		switch {
		case e.v.past:
		case ev.IsError && noReason().MatchString(ResultText(ev.Content)):
			e.v.unexplained = append(e.v.unexplained, failed)
		case ev.IsError && !strings.HasPrefix(ResultText(ev.Content), "Error: Tool execution cancelled"):
			e.v.tellLater(failed, ResultText(ev.Content))
		}
		update.Content = append(update.Content, ResultContent(ev.Content)...)
	}
}

// FailedEdit is an edit of which droid has told no more than that it failed.
type FailedEdit struct {
	ID      string
	content []protocol.ToolContent // what the call shows beside that
	files   string                 // their names, in a line
}

// tellLater has words that say why an edit failed wait for an end of the model's words, where the client shows it nowhere.
func (v *View) tellLater(e FailedEdit, why string) {
	if v.client.NoResults && e.files != "" {
		v.unseen = append(v.unseen, "The edit of "+markdown.Code(visible.Line(e.files))+" failed: "+strings.TrimPrefix(why, "Error: "))
	}
}

// tellUnseen tells what waits for that, where the event ends the model's words.
func (v *View) tellUnseen(ev quirks.Event) {
	switch ev := quirks.Unwrap(ev).(type) {
	case quirks.Text:
		if ev.MessageID == v.border.message.messageID {
			return
		}
	case quirks.ToolStarted, quirks.TurnEnded:
	default:
		return
	}
	v.endWords()
}

func (v *View) endWords() {
	v.amid = false
	for _, text := range v.unseen {
		v.tell(text)
	}
	v.unseen = nil
}

// EndWords tells what waits for an end of the model's words, as none follow.
func (v *View) EndWords() []Output {
	v.endWords()
	return v.take()
}

// noReason matches what droid says of edits that fail (0.225). The model gets the reason, which stands in droid's store when
// all calls that were made together have ended.
var noReason = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(Error: )?Failed to [a-z ]{1,40}\.?$`) })

// Unexplained hands out, each once, the failed edits whose reason droid has stored when it tells this event: the model goes on,
// or the turn has ended.
func (v *View) Unexplained(ev quirks.Event) (failed []FailedEdit) {
	switch ev.(type) {
	case quirks.Text, quirks.ToolStarted, quirks.TurnEnded:
		failed, v.unexplained = v.unexplained, nil
	}
	return failed
}

// Explain shows why an edit failed.
func (v *View) Explain(e FailedEdit, why string) []Output {
	v.tellLater(e, why)
	if !v.client.NoResults { // it would show a call without a title
		v.send(protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: e.ID, Status: protocol.StatusFailed, Content: append(e.content, protocol.TextContent(why))})
	}
	return v.take()
}

// change is what a call does to one file. old and new are the texts of the whole file,
// or, where these are not known, of the lines that change.
type change struct {
	path     string  // absolute
	old, new *string // nil: there is no such file
	part     bool    // not the whole file
	from     string  // name until now of a file that cannot be read, absolute
	line     int     // first line that changes, from 1; 0 when it is not known

	overUnknown bool // nobody knows whether there was a file, and what it had: no diff tells that
}

// whole is a change of which both texts are known.
func whole(path string, oldText, newText *string) change {
	return change{path: path, old: oldText, new: newText, line: firstDifference(orEmpty(oldText), orEmpty(newText))}
}

// over is a change of a whole file; known says whether its old text is.
func over(path string, oldText *string, known bool, newText *string) change {
	c := whole(path, oldText, newText)
	c.overUnknown = !known
	return c
}

// to is the change of a whole file to another text.
func (c change) to(newText *string) change {
	c.new, c.line = newText, firstDifference(orEmpty(c.old), orEmpty(newText))
	return c
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// firstDifference is the number of the first line in which two texts differ,
// from 1.
func firstDifference(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return 1 + strings.Count(a[:n], "\n")
}
