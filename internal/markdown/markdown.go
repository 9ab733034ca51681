// Package markdown writes the Markdown that editors show.
package markdown

import "strings"

// Fenced makes text a code block of the language, which may be "". Its fences are
// longer than any run of backticks in the text.
func Fenced(language, text string) string {
	longest, run := 2, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	return fence + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

// Code makes text of one line code within a line, whatever backticks it has.
func Code(text string) string {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	if longest == 0 && text != "" {
		return "`" + text + "`"
	}
	fence := strings.Repeat("`", longest+1)
	return fence + " " + text + " " + fence
}
