package smoke

import (
	"fmt"
	"strings"

	"droid-acp/internal/text/udiff"
)

// style is what is written before a text in colour: a sequence of ECMA-48, "Select
// Graphic Rendition".
type style string

// Styles. plain ends the others.
const (
	plain  style = "\x1b[0m"
	bold   style = "\x1b[1m"
	faint  style = "\x1b[2m"
	red    style = "\x1b[31m"
	green  style = "\x1b[32m"
	yellow style = "\x1b[33m"
	cyan   style = "\x1b[36m"
)

// Styles of the labels at the margin, of the text behind them, of the states of a
// tool call, of the kinds of an answer, and of the lines of a diff.
var (
	styles = map[string]style{"you": bold, "agent": cyan, "thought": faint, "tool": yellow, "ask": bold, "answer": bold,
		"summary": bold, "expect": bold}
	bodies    = map[string]style{"thought": faint}
	statuses  = map[string]style{"completed": green, "failed": red}
	answers   = map[string]style{kindAllowOnce: green, kindRejectOnce: red, kindRejectAlways: red, kindCancelled: red}
	diffStyle = map[udiff.Kind]style{udiff.Hunk: cyan, udiff.Removed: red, udiff.Added: green, udiff.Remark: faint}
)

// key tells diffs of one tool call apart.
func (c content) key() string {
	return fmt.Sprintf("%q %q %q", c.Path, orEmpty(c.OldText), orEmpty(c.NewText))
}

// diff shows a change as a unified diff. Line ends of Windows are not shown where both
// texts have no others.
func (v *viewer) diff(c content) {
	before, after := orEmpty(c.OldText), orEmpty(c.NewText)
	if onlyCRLF(before) && onlyCRLF(after) {
		before, after = strings.ReplaceAll(before, "\r\n", "\n"), strings.ReplaceAll(after, "\r\n", "\n")
	}
	v.below(bold, "--- "+nameOr(c.OldText, c.Path))
	v.below(bold, "+++ "+nameOr(c.NewText, c.Path))
	for _, line := range udiff.Lines(before, after) {
		v.below(diffStyle[line.Kind], line.Text+"\n")
	}
}

// nameOr is the name of a side of a diff: that of no file where there is none.
func nameOr(text *string, path string) string {
	if text == nil {
		return "/dev/null"
	}
	return strings.ReplaceAll(path, "\n", `\n`) // a name makes no lines
}

func onlyCRLF(text string) bool { return strings.Count(text, "\n") == strings.Count(text, "\r\n") }

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
