package render

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
	// maxReplaced bounds the result of replacements, in bytes: a short text in many places may become a long one in each.
	maxReplaced = 4 << 20
	// maxScanned bounds the bytes searched for replacements, counting each search, to about 100 ms.
	maxScanned = 128 << 20
	// maxChanges and maxShown bound the changes of one call that are shown, by number and in bytes. The others are listed by name.
	maxChanges = 100
	maxShown   = 4 << 20
	// maxNames bounds the names in a sentence.
	maxNames = 10
	// maxDiff bounds one diff, old and new text together, in bytes. Of larger files only the changed lines are shown.
	maxDiff = 1 << 20
	// maxBeginning bounds the shown part of a longer change, in bytes.
	maxBeginning = 16 << 10
)

// editView is the view of a call that changes files.
type editView struct {
	*shownCall
	changes []fileChange
	files   Files // read when the call began, until its input is described
}

func newEdit(c *shownCall) toolView { return &editView{shownCall: c, files: c.v.files} }

// describe records what the call is about to change, and adds the files that the title does not name.
func (e *editView) describe(name string, input json.RawMessage, shown *protocol.ToolCall) {
	if e.v.files == nil {
		e.v.files = e.files
		defer func() { e.v.files = nil }()
	}
	e.changes, e.files = e.v.plannedChanges(name, input), nil
	for i, c := range e.changes {
		// droid may have emptied or written the file before it was read, unless it waits for permission.
		if e.v.directories == nil && !c.part && c.old != nil && c.new != nil && (*c.old == "" || *c.old == *c.new) {
			e.changes[i] = over(c.path, nil, false, c.new)
		}
	}
	if len(e.changes) == 0 {
		return
	}
	if shown.Locations == nil {
		shown.Title += protocol.Line(" " + fileNames(e.v.cwd, e.changes, nil))
	}
	shown.Locations = changeLocations(e.changes)
}

func (e *editView) planned() []fileChange { return e.changes }

// asked uses droid's description of the changes, which may be more accurate; see askedChanges.
func (e *editView) asked(_ stream.PermissionToolUse, changes []fileChange) (keep bool) {
	e.changes = changes
	return true
}

// ended shows what an edit has changed, or would have changed.
func (e *editView) ended(ev quirks.ToolEnded, update *protocol.ToolCall) {
	if ev.Unfinished {
		return
	}
	var without []fileChange
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
			e.v.queueEditNotice(failed, ResultText(ev.Content))
		}
		update.Content = append(update.Content, ResultContent(ev.Content)...)
	}
}

// FailedEdit is an edit for which droid reported only that it failed.
type FailedEdit struct {
	ID      string
	content []protocol.ToolContent // other content of the call
	files   string                 // their names, on one line
}

// queueEditNotice queues a notice why an edit failed, for clients that do not show results. It is sent after the current message.
func (v *View) queueEditNotice(e FailedEdit, why string) {
	if v.client.HidesResults && e.files != "" {
		v.pendingNotices = append(v.pendingNotices, "The edit of "+markdown.Code(visible.Line(e.files))+" failed: "+strings.TrimPrefix(why, "Error: "))
	}
}

// flushBefore sends queued notices if the event ends the model's message.
func (v *View) flushBefore(ev quirks.Event) {
	switch ev := quirks.Unwrap(ev).(type) {
	case quirks.Text:
		if ev.MessageID == v.separator.message.messageID {
			return
		}
	case quirks.ToolStarted, quirks.TurnEnded:
	default:
		return
	}
	v.flushNotices()
}

func (v *View) flushNotices() {
	v.midMessage = false
	for _, text := range v.pendingNotices {
		v.notice(text)
	}
	v.pendingNotices = nil
}

// FlushNotices sends queued notices when no text of the model will follow.
func (v *View) FlushNotices() []Output {
	v.flushNotices()
	return v.take()
}

// noReason matches droid's message for a failed edit (0.225). Only the model gets the reason, which droid stores when all parallel calls
// have ended.
var noReason = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(Error: )?Failed to [a-z ]{1,40}\.?$`) })

// TakeUnexplained returns, once each, the failed edits whose reason is in droid's store by the time of this event: the model continues, or the
// turn has ended.
func (v *View) TakeUnexplained(ev quirks.Event) (failed []FailedEdit) {
	switch ev.(type) {
	case quirks.Text, quirks.ToolStarted, quirks.TurnEnded:
		failed, v.unexplained = v.unexplained, nil
	}
	return failed
}

// ExplainFailure shows why an edit failed.
func (v *View) ExplainFailure(e FailedEdit, why string) []Output {
	v.queueEditNotice(e, why)
	if !v.client.HidesResults { // it would show a call without a title
		v.send(protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: e.ID, Status: protocol.StatusFailed, Content: append(e.content, protocol.TextContent(why))})
	}
	return v.take()
}

// fileChange is the effect of a call on one file. old and new are the texts of the whole file or, if unknown, of the changed lines.
type fileChange struct {
	path     string  // absolute
	old, new *string // nil: no such file
	part     bool    // only lines, not the whole file
	from     string  // previous name of a file that cannot be read, absolute
	line     int     // first changed line, 1-based; 0 if unknown

	overUnknown bool // it is unknown whether the file existed and what it contained, so there is no diff
}

// whole returns a change both of whose texts are known.
func whole(path string, oldText, newText *string) fileChange {
	return fileChange{path: path, old: oldText, new: newText, line: firstDifference(orEmpty(oldText), orEmpty(newText))}
}

// over returns a change of a whole file; known reports whether its old text is known.
func over(path string, oldText *string, known bool, newText *string) fileChange {
	c := whole(path, oldText, newText)
	c.overUnknown = !known
	return c
}

// to returns the change with another new text.
func (c fileChange) to(newText *string) fileChange {
	c.new, c.line = newText, firstDifference(orEmpty(c.old), orEmpty(newText))
	return c
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// firstDifference returns the 1-based number of the first line in which two texts differ.
func firstDifference(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return 1 + strings.Count(a[:n], "\n")
}
