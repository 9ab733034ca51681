// Package markdown writes the Markdown that editors show.
package markdown

import "strings"

// Fenced makes text a code block of the language, which may be "". Its fences are
// longer than any run of backticks in the text.
func Fenced(language, text string) string {
	fence := strings.Repeat("`", max(2, longestRun(text))+1)
	return fence + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

// longestRun is the length of the longest run of backticks in a text.
func longestRun(text string) (longest int) {
	run := 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// Code makes text of one line code within a line, whatever backticks it has.
func Code(text string) string {
	run := longestRun(text)
	if run == 0 && text != "" {
		return "`" + text + "`"
	}
	fence := strings.Repeat("`", run+1)
	return fence + " " + text + " " + fence
}

// Escaped is text of one line as Markdown that shows the text itself, without the spaces at its ends. It holds
// also where straight quotes, dashes and dots would become typographic ones. What means nothing where it stands
// is left alone, as the text may be seen as it is, too.
func Escaped(text string) string {
	text = strings.TrimSpace(text)
	var b strings.Builder
	for i := range len(text) {
		if isMarkup(text, i) {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// isMarkup reports whether the byte i of a line may mean something to Markdown.
func isMarkup(line string, i int) bool {
	twice := i > 0 && line[i-1] == line[i] || i+1 < len(line) && line[i+1] == line[i]
	numbered := i > 0 && strings.Trim(line[:i], "0123456789") == ""
	switch line[i] {
	case '#', '+':
		return i == 0
	case '-':
		return i == 0 || twice
	case '.':
		return numbered || twice
	case ')':
		return numbered
	}
	return strings.IndexByte("\\`*_~^$&<>['\"", line[i]) >= 0
}
