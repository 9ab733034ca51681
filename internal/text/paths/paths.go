// Package paths names files: against a session's directory, by the address that an
// editor gives them, and in a text for the model. It touches no file.
package paths

import (
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
)

// Absolute is the clean path of a file whose path may be relative to dir.
func Absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// Relative shortens the path of a file below dir. Others stay as they are.
func Relative(dir, path string) string {
	rel, err := filepath.Rel(dir, Absolute(dir, path))
	if err != nil || strings.HasPrefix(rel, "..") {
		return path
	}
	return rel
}

// Below reports whether a clean path is dir, or is below it.
func Below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// OfURI is the path of a file URI, ok when it has one. A file of another machine
// has none here. Nor has one with control characters in its name: it is named by its
// URI, in which they are escaped.
func OfURI(uri string) (path string, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" || u.Host != "" && u.Host != "localhost" || strings.ContainsFunc(u.Path, unicode.IsControl) {
		return "", false
	}
	p := u.Path
	// file:///C:/x parses to /C:/x, which is no path on Windows.
	if len(p) > 2 && p[0] == '/' && p[2] == ':' {
		p = p[1:]
	}
	return filepath.FromSlash(p), true
}

// Same compares clean paths as the system does, links aside.
func Same(a, b string) bool {
	return a == b || filepath.Separator == '\\' && strings.EqualFold(a, b)
}

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
