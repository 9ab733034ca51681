// Package paths converts file names: relative to a session's directory, from file URIs, as mentions in prompts, and in the path fields of
// JSON messages (PathFields). It does not access files.
package paths

import (
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
)

// Absolute returns the clean absolute form of a path that may be relative to dir.
func Absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// Relative returns a path below dir relative to it, and any other path unchanged.
func Relative(dir, path string) string {
	rel, err := filepath.Rel(dir, Absolute(dir, path))
	if err != nil || strings.HasPrefix(rel, "..") {
		return path
	}
	return rel
}

// Below reports whether a clean path is dir or below it.
func Below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// FromURI returns the path of a file URI. It returns false for other schemes, for files on another host, and for names with control
// characters: such a file is referred to by its URI, which escapes them.
func FromURI(uri string) (path string, ok bool) {
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

// Equal reports whether two clean paths are equal on this system, ignoring links.
func Equal(a, b string) bool {
	return a == b || filepath.Separator == '\\' && strings.EqualFold(a, b)
}

// shellSafe lists the characters, besides letters and digits, that have no meaning in a POSIX shell.
const shellSafe = "/._-+,:@%="

// ShellQuote quotes a text as one word of a POSIX shell.
func ShellQuote(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(shellSafe, r))
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
