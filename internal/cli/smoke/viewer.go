package smoke

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"droid-acp/internal/text/udiff"

	"droid-acp/internal/text/visible"
)

// viewer shows a conversation: raw protocol lines, or readable text. Text of others is made safe to show, and never starts at the margin,
// where this program's own labels are.
type viewer struct {
	w      io.Writer
	raw    bool
	colour bool
	block  string               // the kind of the current block: "agent", "thought", or "" at a line's beginning
	calls  map[string]*callView // by ID

	columns func() int // maximum width of a row; nil if rows are not wrapped here
	column  int        // position of the next character, if columns is set
}

// callView is the shown state of a tool call.
type callView struct {
	title string
	texts map[int]string  // last shown texts, by index in the content
	diffs map[string]bool // shown diffs, by path and texts
}

// line shows a protocol line in raw form.
func (v *viewer) line(line []byte) {
	if v.raw {
		_, _ = io.WriteString(v.w, visible.JSONLine(string(line))) // a closed terminal is not a reason to stop
	}
}

// print shows text in a style that is reset at the margins.
func (v *viewer) print(s style, text string) {
	if v.raw {
		return
	}
	for line := range strings.Lines(visible.Text(text)) {
		body, ended := strings.CutSuffix(line, "\n")
		for body != "" {
			n := v.fitting(body)
			v.write(s, body[:n])
			if body = body[n:]; body != "" {
				_, _ = io.WriteString(v.w, "\n")
				v.column = 0
				v.label("")
			}
		}
		if ended {
			_, _ = io.WriteString(v.w, "\n")
			v.column = 0
		}
	}
}

// write writes a piece of a row in a style.
func (v *viewer) write(s style, text string) {
	if s != "" && v.colour && text != "" {
		text = string(s) + text + string(plain)
	}
	_, _ = io.WriteString(v.w, text) // a closed terminal is not a reason to stop
}

// minBody is the number of columns that must remain after the margin for rows to be wrapped here.
const minBody = 10

// fitting returns how many bytes of text fit on the row, up to a space if possible. The rest begins a new row after the margin, where only
// this program's own labels are.
func (v *viewer) fitting(text string) int {
	if v.columns == nil || v.columns() < marginWidth+minBody {
		return len(text)
	}
	most, words := v.columns(), 0 // words is the length of the words that fit
	for i, r := range text {
		n := columnsOf(r, v.column)
		if v.column+n > most && v.column > marginWidth {
			return cmp.Or(words, i)
		}
		if v.column += n; r == ' ' {
			words = i + 1
		}
	}
	return len(text)
}

// marginWidth is the width of a label and the space after it.
const marginWidth = 10

// label begins a line of this program.
func (v *viewer) label(label string) {
	v.print(styles[label], fmt.Sprintf("%-7s", label))
	v.print(faint, " | ")
}

// entry ends a running text block and prints one line.
func (v *viewer) entry(label, text string) { v.styled(label, "", text) }

func (v *viewer) styled(label string, s style, text string) {
	v.end()
	v.label(label)
	v.print(s, visible.Line(text))
	v.print("", "\n")
}

// details prints text below an entry.
func (v *viewer) details(text string) {
	v.below("", strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"))
}

// below prints lines below an entry, in a style.
func (v *viewer) below(s style, text string) {
	for line := range strings.Lines(text) {
		v.end()
		v.label("")
		v.print("", "  ")
		v.print(s, strings.TrimSuffix(line, "\n"))
		v.print("", "\n")
	}
}

// end ends a running text block.
func (v *viewer) end() {
	if v.block != "" {
		v.print("", "\n")
		v.block = ""
	}
}

func (v *viewer) prompt(text string) {
	v.chunk("you", text)
	v.end()
}

// chunk continues a text block, or begins one.
func (v *viewer) chunk(block, text string) {
	if v.block != block {
		if text = strings.TrimLeft(text, "\n"); text == "" { // its label separates it from the text before
			return
		}
		v.end()
		v.label(block)
		v.block = block
	}
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if i > 0 {
			v.print("", "\n")
			v.label("")
		}
		v.print(bodies[block], line)
	}
}

func (v *viewer) update(u update) {
	switch u.SessionUpdate {
	case "agent_message_chunk":
		if u.Meta.Own.Notice {
			v.chunk("notice", strings.TrimSpace(u.Content.text()))
			v.end()
			return
		}
		v.chunk("agent", u.Content.text())
	case "agent_thought_chunk":
		v.chunk("thought", u.Content.text())
	case "user_message_chunk":
		if who := u.Meta.Own.Client; who != "" && v.block != "you" {
			v.chunk("you", "(in "+visible.Line(who)+") ")
		}
		v.chunk("you", u.Content.text())
	case "tool_call", "tool_call_update":
		v.toolCall(u.toolUpdate)
	case "plan":
		v.plan(u.Entries)
	case "current_mode_update":
		v.entry("mode", u.CurrentModeID)
	case "session_info_update":
		if u.Title != "" { // the update may concern something else
			v.entry("title", u.Title)
		}
		if u.Meta.Own.StopReason != "" {
			v.entry("turn", "ended with "+u.Meta.Own.StopReason)
		}
	}
}

// call returns the state of a tool call, with its current title.
func (v *viewer) call(u toolUpdate) *callView {
	if v.calls == nil {
		v.calls = make(map[string]*callView)
	}
	c := v.calls[u.ToolCallID]
	if c == nil {
		c = &callView{texts: make(map[int]string), diffs: make(map[string]bool)}
		v.calls[u.ToolCallID] = c
	}
	c.title = cmp.Or(u.Title, c.title)
	return c
}

// toolCall shows what is new about a call: its state, and content that was not shown before.
func (v *viewer) toolCall(u toolUpdate) {
	c := v.call(u)
	switch {
	case u.Status != "":
		v.styled("tool", statuses[u.Status], c.title+" ["+u.Status+"]")
	case u.Title != "":
		v.entry("tool", u.Title)
	}
	for i, item := range u.Content {
		if item.Type == "diff" {
			if key := item.key(); !c.diffs[key] {
				c.diffs[key] = true
				v.diff(item)
			}
			continue
		}
		fresh, grown := strings.CutPrefix(item.text(), c.texts[i])
		if c.texts[i] = item.text(); !grown {
			fresh = item.text()
		}
		v.details(fresh)
	}
}

// permission shows a question with all details, and its answer.
func (v *viewer) permission(call toolUpdate, options []option, answer option) {
	v.asked(call, options, func(int) string { return "- " })
	v.answered(answer)
}

// asked shows a question with its plan, command or change, and each option after the result of mark for its index.
func (v *viewer) asked(call toolUpdate, options []option, mark func(i int) string) {
	v.entry("ask", call.Title)
	c := v.call(call)
	for _, item := range call.Content {
		if item.Type == "diff" {
			c.diffs[item.key()] = true
			v.diff(item)
			continue
		}
		v.details(item.text())
	}
	for i, o := range options {
		v.entry("", mark(i)+o.Name)
	}
}

func (v *viewer) answered(answer option) { v.styled("answer", answers[answer.Kind], answer.Name) }

func (v *viewer) plan(entries []planEntry) {
	for i, e := range entries {
		label := "plan"
		if i > 0 {
			label = ""
		}
		v.entry(label, e.Content+" ["+e.Status+"]")
	}
}

// checked shows an expectation and whether it was met.
func (v *viewer) checked(e Expectation, c CheckedExpectation) {
	if c.Met {
		v.styled("expect", green, e.String()+": yes")
		return
	}
	v.styled("expect", red, e.String()+": no, "+c.Found)
}

// style is the sequence that is written before a coloured text (ECMA-48, "Select Graphic Rendition").
type style string

// Styles. plain resets the others.
const (
	plain  style = "\x1b[0m"
	bold   style = "\x1b[1m"
	faint  style = "\x1b[2m"
	red    style = "\x1b[31m"
	green  style = "\x1b[32m"
	yellow style = "\x1b[33m"
	cyan   style = "\x1b[36m"
)

// Styles of the labels at the margin, of the text after them, of the states of a tool call, of the kinds of an answer, and of the lines of
// a diff.
var (
	styles = map[string]style{"you": bold, "agent": cyan, "thought": faint, "tool": yellow, "ask": bold, "answer": bold,
		"summary": bold, "expect": bold}
	bodies    = map[string]style{"thought": faint}
	statuses  = map[string]style{"completed": green, "failed": red}
	answers   = map[string]style{kindAllowOnce: green, kindRejectOnce: red, kindRejectAlways: red, kindCancelled: red}
	diffStyle = map[udiff.LineKind]style{udiff.Hunk: cyan, udiff.Removed: red, udiff.Added: green, udiff.Remark: faint}
)

// key identifies a diff of a tool call.
func (c content) key() string {
	return fmt.Sprintf("%q %q %q", c.Path, orEmpty(c.OldText), orEmpty(c.NewText))
}

// diff shows a change as a unified diff. Windows line ends are not shown if both texts have no others.
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

// nameOr returns the name of a side of a diff: that of no file if text is nil.
func nameOr(text *string, path string) string {
	if text == nil {
		return "/dev/null"
	}
	return strings.ReplaceAll(path, "\n", `\n`) // a name must not break lines
}

func onlyCRLF(text string) bool { return strings.Count(text, "\n") == strings.Count(text, "\r\n") }

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
