// Package markdown writes Markdown for editors: code blocks, inline code and escaped text. show and export use it.
package markdown

import "strings"

// Fenced returns text as a code block in the language, which may be "". The fence is longer than any run of backticks in the text.
func Fenced(language, text string) string {
	fence := strings.Repeat("`", max(2, longestRun(text))+1)
	return fence + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

// longestRun returns the length of the longest run of backticks in a text.
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

// Code returns one line of text as inline code, whatever backticks it has.
func Code(text string) string {
	run := longestRun(text)
	if run == 0 && text != "" {
		return "`" + text + "`"
	}
	fence := strings.Repeat("`", run+1)
	return fence + " " + text + " " + fence
}

// Escaped returns one line of trimmed text as Markdown that displays as the text itself, even if the renderer replaces straight quotes,
// dashes and dots by typographic ones. Only characters with a meaning at their position are escaped, since the text may also be seen
// unrendered.
func Escaped(text string) string {
	text = strings.TrimSpace(text)
	number := len(text) - len(strings.TrimLeft(text, "0123456789"))
	var b strings.Builder
	for i := range len(text) {
		if isMarkup(text, i, number) {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// isMarkup reports whether byte i of a line may have a meaning in Markdown. The line begins with a number of this length.
func isMarkup(line string, i, number int) bool {
	twice := i > 0 && line[i-1] == line[i] || i+1 < len(line) && line[i+1] == line[i]
	numbered := i > 0 && i == number
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
