package show

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
)

// Absolute is the path of a file that is named relative to cwd, or absolutely.
func Absolute(cwd, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(cwd, path)
}

// Relative shortens a path inside cwd.
func Relative(cwd, path string) string {
	rel, err := filepath.Rel(cwd, Absolute(cwd, path))
	if err != nil || strings.HasPrefix(rel, "..") {
		return path
	}
	return rel
}

// FirstLine is the first line of a text, with a sign where there are more.
func FirstLine(s string) string {
	line, rest, more := strings.Cut(strings.TrimSpace(s), "\n")
	if more && rest != "" {
		return line + " …"
	}
	return line
}

// shorten cuts text to n bytes at most, with a sign that it did.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + " …"
}

// Fenced makes text a code block of Markdown, between fences longer than any run
// of backticks in it.
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

// errorStatus is an HTTP status before a JSON object: the words that droid has
// for a failure of the provider "anthropic" (0.99 to 0.225).
var errorStatus = regexp.MustCompile(`\b[45]\d\d \{`)

// ProviderWords puts a provider's own words in place of the error object that has them.
func ProviderWords(text string) string {
	at := errorStatus.FindStringIndex(text)
	if at == nil {
		return text
	}
	begin := at[1] - 1
	in := json.NewDecoder(strings.NewReader(text[begin:]))
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if in.Decode(&body) != nil || body.Error.Message == "" {
		return text
	}
	return text[:begin] + body.Error.Message + text[begin+int(in.InputOffset()):]
}
