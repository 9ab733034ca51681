package paths

import "strings"

// plainInShell are the characters besides letters and digits that no POSIX shell gives a meaning.
const plainInShell = "/._-+,:@%="

// Word is a text, such as a path, as one word of a POSIX shell.
func Word(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(plainInShell, r))
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
