package editorfs

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"droid-acp/internal/text/udiff"
)

// maxSize is the maximum size of a file that is read or edited through the editor, in bytes. An edit through the editor takes 32 ms of
// processor time with 100 kB, 152 with 1 MB and 381 with 3 MB. agent-shell takes 2.3 s for each request with 2 MB. droid 0.99 runs no hook
// after an edit of a file of more than about 125 kB, 0.225 after each (4 MB were tried).
const maxSize = 4 << 20

// lineEnds is the line ending of a text.
type lineEnds int

const (
	noEnds lineEnds = iota // a single line without an ending
	lf
	crlf
)

var (
	errEncoding = errors.New("it is not plain UTF-8")
	errEnds     = errors.New("its lines do not all end in the same way")
	errSize     = errors.New("it is too large")
)

// readable returns the text of a file's bytes. It fails if an editor could not return the same bytes.
func readable(data []byte) (string, lineEnds, error) {
	if len(data) > maxSize {
		return "", 0, errSize
	}
	if !utf8.Valid(data) || bytes.HasPrefix(data, []byte("\ufeff")) || bytes.IndexByte(data, 0) >= 0 {
		return "", 0, errEncoding
	}
	newlines, both, returns := bytes.Count(data, []byte("\n")), bytes.Count(data, []byte("\r\n")), bytes.Count(data, []byte("\r"))
	switch {
	case returns != both || both != 0 && both != newlines:
		return "", 0, errEnds
	case both > 0:
		return string(data), crlf, nil
	case newlines > 0:
		return string(data), lf, nil
	}
	return string(data), noEnds, nil
}

// plain returns a text with "\n" for "\r\n".
func plain(text string) string {
	if !strings.Contains(text, "\r") {
		return text
	}
	return strings.ReplaceAll(text, "\r\n", "\n")
}

// withEnds converts a text with the line ending "\n" to the given one.
func withEnds(text string, e lineEnds) string {
	if e == crlf {
		return strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// matching returns a text with the line endings of buffer.
func matching(buffer, text string) string {
	switch i := strings.IndexByte(buffer, '\n'); {
	case i < 0:
		return text
	case i > 0 && buffer[i-1] == '\r':
		return withEnds(plain(text), crlf)
	}
	return plain(text)
}

// withFinalNewline appends the newline of the last line to an editor's text if the disk's text has one: several clients drop it on reading,
// and write what they have read. A user who has removed only that newline has changed nothing.
func withFinalNewline(disk, buffer string) string {
	dropped := plain(disk) == plain(buffer)+"\n"
	if !dropped && (!strings.HasSuffix(disk, "\n") || strings.HasSuffix(buffer, "\n") || buffer == "") {
		return buffer
	}
	if strings.HasSuffix(disk, "\r\n") && (!strings.Contains(buffer, "\n") || strings.Contains(buffer, "\r\n")) {
		return buffer + "\r\n"
	}
	return buffer + "\n"
}

// sameText reports whether an editor's text equals the disk's except for line endings.
func sameText(disk, buffer string) bool { return plain(disk) == plain(withFinalNewline(disk, buffer)) }

// endsFit reports whether a text with ends b can replace one with ends a in an editor, which has one kind of line ending per file.
func endsFit(a, b lineEnds) bool {
	return a == b || b == noEnds || a == noEnds && b == lf
}

// maybeTwice reports whether a saved text could be the new one with the edit applied twice, as when a write coincides with a reload: it
// has more bytes than the new text, at most as many of each value as the edit's whole lines have inserted. A formatter's result can look
// the same.
func maybeTwice(old, new, saved string) bool {
	head := 0
	for head < len(old) && head < len(new) && old[head] == new[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(new)-head && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	head = strings.LastIndexByte(new[:head], '\n') + 1
	if i := strings.IndexByte(new[len(new)-tail:], '\n'); i >= 0 {
		tail -= i + 1
	} else {
		tail = 0
	}
	inserted, before, after := count(new[head:len(new)-tail]), count(new), count(saved)
	more := false
	for b := range after {
		extra := after[b] - before[b]
		if extra > inserted[b] {
			return false
		}
		more = more || extra > 0
	}
	return more
}

// partOf reports whether a text on disk is a part of one that is being written.
func partOf(text, found string) bool {
	return strings.HasPrefix(text, found) || strings.HasPrefix(plain(text), found)
}

// madeOf reports whether each line of a text is in one of the other two.
func madeOf(text, one, other string) bool {
	lines := make(map[string]bool)
	for line := range strings.Lines(plain(one + "\n" + other)) {
		lines[strings.TrimSuffix(line, "\n")] = true
	}
	for line := range strings.Lines(plain(text)) {
		if !lines[strings.TrimSuffix(line, "\n")] {
			return false
		}
	}
	return true
}

func count(text string) (n [256]int) {
	for i := range len(text) {
		n[text[i]]++
	}
	return n
}

// linesThatDiffer returns how many lines a saved text has in place of those written.
func linesThatDiffer(written, saved string) int {
	missing, extra := 0, 0
	for _, line := range udiff.Lines(written, saved) {
		switch line.Kind {
		case udiff.Removed:
			missing++
		case udiff.Added:
			extra++
		}
	}
	return max(missing, extra, 1)
}
