package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// failures are the prefixes of droid's messages for a failed model call, besides an HTTP status: the first is for custom models (0.99 to
// 0.225).
var failures = []string{"BYOK Error: ", "Connection error", "Authentication failed.", "Unable to reach "}

// IsFailure reports whether a stored text of droid is an error of a model call.
func IsFailure(text string) bool {
	if slices.ContainsFunc(failures, func(begin string) bool { return strings.HasPrefix(text, begin) }) {
		return true
	}
	code, _, _ := strings.Cut(text, " ")
	status, err := strconv.Atoi(code)
	return err == nil && status >= 400 && status < 600
}

// FirstLine returns the first line of a text, with an ellipsis if there are more.
func FirstLine(s string) string {
	line, rest, more := strings.Cut(strings.TrimSpace(s), "\n")
	if more && rest != "" {
		return line + " …"
	}
	return line
}

// verbatim returns text on one line as Markdown that displays it unchanged: as code if it has markup, since not every client renders
// escapes.
func verbatim(text string) string {
	if text = visible.Line(text); markdown.Escaped(text) != text {
		return markdown.Code(text)
	}
	return text
}

// CutSentence splits a text after its first sentence, which ends with its line at the latest.
func CutSentence(text string) (first, rest string) {
	first, rest, _ = strings.Cut(strings.TrimSpace(text), "\n")
	for i := 0; ; {
		n := strings.Index(first[i:], ". ")
		if n < 0 {
			return first, strings.TrimSpace(rest)
		}
		if i += n + 1; !strings.HasSuffix(first[:i], "e.g.") && !strings.HasSuffix(first[:i], "i.e.") {
			return first[:i], strings.TrimSpace(strings.TrimSpace(text)[i:])
		}
	}
}

// shorten cuts text to at most n bytes and adds an ellipsis.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + " …"
}

// errorStatus matches an HTTP status before a JSON object: droid's message for a failure of the provider "anthropic" (0.99 to 0.225).
var errorStatus = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b[45]\d\d \{`) })

// ProviderMessage replaces an error object by the provider's message in it, and omits droid's paragraph that repeats it (0.225).
func ProviderMessage(text string) string {
	text = unwrapError(text)
	before, again, found := strings.Cut(text, "\n\nUpstream error: ")
	words, behind, _ := strings.Cut(again, "\n\n")
	if !found || !strings.Contains(before, strings.TrimSpace(words)) {
		return text
	}
	return strings.TrimRight(before+"\n\n"+strings.TrimSpace(behind), "\n")
}

// unwrapError replaces an error object by the provider's message in it.
func unwrapError(text string) string {
	at := errorStatus().FindStringIndex(text)
	if at == nil {
		return text
	}
	begin := at[1] - 1
	in := json.NewDecoder(strings.NewReader(text[begin:]))
	var body map[string]json.RawMessage
	if in.Decode(&body) != nil {
		return text
	}
	words := errorMessage(body)
	if words == "" {
		return text
	}
	return text[:begin] + words + text[begin+int(in.InputOffset()):]
}

// errorMessage returns the message in a provider's error object: in "message", "error" or "detail", or in the "message" of "error"; "" if
// there is none.
func errorMessage(body map[string]json.RawMessage) string {
	var words string
	for _, name := range []string{"message", "error", "detail"} {
		if json.Unmarshal(body[name], &words) == nil && words != "" {
			return words
		}
	}
	var within struct{ Message string }
	_ = json.Unmarshal(body["error"], &within) // "" unless an object
	return within.Message
}

// lostText explains that a message of droid was too long to be read.
func lostText(ev stream.Lost) string {
	what := map[string]string{
		"create_message":       "a message of the conversation",
		"assistant_text_delta": "a piece of the model's answer",
		"thinking_text_delta":  "a piece of the model's thinking",
		"tool_call":            "a tool call",
		"tool_result":          "the result of a tool",
		"request_permission":   "a request for permission, which is refused therefore",
		"ask_user":             "a question, which is dismissed therefore",
	}[ev.Type]
	if what == "" {
		what = "something (" + cmp.Or(ev.Type, "of no known kind") + ")"
	}
	return fmt.Sprintf("droid sent %s of %.1f MB. That is lost, as droid-acp reads %.1f MB at once at most. The session goes on; ask for less at a time, or have it written to a file.",
		what, float64(ev.Size)/1e6, float64(stream.MaxLine)/1e6)
}
