package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/rawjson"
	"droid-acp/internal/text/udiff"
	"droid-acp/internal/text/visible"
)

// showBefore shows the content of a request outside of it if the client would not show it there: in the entry of the call if the client
// shows that, else as a message. It returns the call for the request. always describes what an option raises; it goes into the message, or
// else before the content, so that what is decided comes last and complete.
func (v *View) showBefore(ev quirks.PermissionRequested, call protocol.ToolCall, always string) (asked protocol.ToolCall) {
	asked = call
	diffs, others := parted(call.Content)
	before := call
	before.SessionUpdate, before.Content = "tool_call_update", diffs
	if always != "" && (v.client.ShowsRequestContent || v.client.ShowsCallContent) {
		asked.Content = slices.Insert(slices.Clone(call.Content), 0, protocol.TextContent(always))
	}
	switch {
	case v.client.ShowsRequestContent:
		if v.client.ShowsCallDiffs && len(diffs) > 0 {
			v.send(protocol.ToolCall{SessionUpdate: before.SessionUpdate, ToolCallID: call.ToolCallID, Content: diffs})
		}
		return asked
	case v.client.ShowsCallContent:
		before.Content = protocol.SafeContent(asked.Content)
	}
	v.send(before)
	text := []string{always}
	switch {
	case v.client.ShowsCallContent && v.client.HidesWaitingDiffs:
		text = []string{contentText(v.cwd, diffs)}
	case v.client.ShowsCallContent:
		text = nil
	case v.client.HidesWaitingDiffs, len(ev.Tools) > 1, v.client.ShowsLeadingDiff && len(diffs) > 0 && len(call.Content) > 1:
		text = append(text, contentText(v.cwd, protocol.SafeContent(call.Content)))
	default:
		if command := ev.Tools[0]; isTitle(command) {
			text = append(text, commandNotes(command))
		} else {
			text = append(text, contentText(v.cwd, others))
		}
		if !v.client.ShowsLeadingDiff && len(diffs) == 1 && diffs[0].OldText == nil {
			text = append(text, contentText(v.cwd, diffs)) // some clients show no diff of a new file
		}
	}
	v.notice(paragraphs(text...))
	return asked
}

// paragraphs joins the non-empty texts.
func paragraphs(texts ...string) (all string) {
	for _, text := range texts {
		all = strings.TrimSpace(all + "\n\n" + strings.TrimSpace(text))
	}
	return all
}

// parted separates diffs from other content.
func parted(content []protocol.ToolContent) (diffs, others []protocol.ToolContent) {
	for _, c := range content {
		if c.Type == "diff" {
			diffs = append(diffs, c)
		} else {
			others = append(others, c)
		}
	}
	return diffs, others
}

// contentText returns content as one text.
func contentText(cwd string, content []protocol.ToolContent) string {
	var parts []string
	for _, c := range content {
		switch {
		case c.Content != nil && c.Content.Text != nil:
			parts = append(parts, *c.Content.Text)
		case c.Type == "diff":
			parts = append(parts, diffText(cwd, c))
		}
	}
	return strings.Join(parts, "\n\n")
}

// diffText returns a diff as text, for clients that show no diffs.
func diffText(cwd string, c protocol.ToolContent) string {
	diff := signedLines(orEmpty(c.OldText), *c.NewText)
	shown := beginning(diff)
	text := "**" + verbatim(fileName(cwd, c.Path)) + "**\n\n" + markdown.Fenced("diff", shown)
	if left := strings.Count(diff, "\n") - strings.Count(shown, "\n"); left > 0 {
		text += fmt.Sprintf("\n\n%d more lines of this diff are not shown.", left)
	}
	return text
}

// signedLines returns the changed lines with three lines of context and the signs of a diff; for equal texts all lines. An ellipsis
// separates hunks.
func signedLines(before, after string) string {
	var b strings.Builder
	for _, l := range udiff.Lines(before, after) {
		switch {
		case l.Kind == udiff.Hunk && b.Len() > 0:
			b.WriteString("…\n")
		case l.Kind != udiff.Hunk && l.Kind != udiff.Remark:
			b.WriteString(l.Text + "\n")
		}
	}
	if b.Len() == 0 {
		for line := range strings.Lines(after) {
			b.WriteString(" " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return b.String()
}

// isTitle reports whether the title of a request shows its command as it is. For a command with several lines or tabs it does not: other
// commands have the same title.
func isTitle(tool stream.PermissionToolUse) bool {
	command := visible.Exact(tool.Details.FullCommand)
	return tool.Confirmation == "exec" && command != "" && command == visible.Line(command)
}

// showsCommand reports whether the client shows the complete command of a request, in the title or from the input of the call.
func (v *View) showsCommand(tool stream.PermissionToolUse) bool {
	command, input := tool.Details.FullCommand, tool.ToolUse.Input
	if tool.Confirmation != "exec" || command == "" || command != visible.Exact(command) {
		return false
	}
	return v.client.ShowsWholeCommand && command == visible.Line(command) ||
		v.client.ShowsInputCommand && command == parseToolInput(input).Command && len(input) <= maxRaw
}

// permissionTitle summarizes a request in one line, since many clients show no more. other is the title of the call.
func permissionTitle(tool stream.PermissionToolUse, other string) string {
	switch d := tool.Details; {
	case tool.Confirmation == "exec" && d.FullCommand != "":
		return visible.Exact(d.FullCommand) // droid knows what will run
	case tool.Confirmation == confirmSpec && d.Title != "":
		return boundedTitle("Approve plan: " + d.Title)
	case tool.Confirmation == "sandbox_violation" && d.Target != "":
		return sandboxTitle(d, other)
	case tool.Confirmation == "mcp_tool":
		if words := inputWords(tool.ToolUse.Input); words != "" {
			return other + " (" + shorten(visible.Line(words), maxTitleInput) + ")"
		}
	}
	return other
}

// maxTitleInput bounds the input of an MCP tool in a title, in bytes.
const maxTitleInput = 200

// inputWords returns the members of an object on one line, in order; "" for any other value.
func inputWords(raw json.RawMessage) string {
	var words []string
	for name, value := range rawjson.Fields(raw) {
		var line bytes.Buffer
		_ = json.Compact(&line, value) // valid, since it was decoded before
		words = append(words, fieldName(string(name))+": "+line.String())
	}
	return strings.Join(words, ", ")
}

var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w.-]+$`) })

// fieldName returns a member name, quoted if it could be misread.
func fieldName(name string) string {
	if plainName().MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}
