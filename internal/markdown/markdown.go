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
