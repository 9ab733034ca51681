package render

import (
	"regexp"
	"strings"
	"sync"

	"droid-acp/internal/droid/stream"
)

const (
	// maxOutput bounds the kept output of a running command, in bytes.
	maxOutput = 64 << 10
	// minOverlap is the number of bytes that two windows of output must share to count as adjacent, unless one of them is shorter.
	minOverlap = 16
	// gapMark stands for output that droid did not report.
	gapMark = "\n[…]\n"
)

// commandOutput assembles a running command's output from droid's reports: since 0.215 its last 8 kB (fullOutput), earlier only its last two
// lines.
type commandOutput struct {
	text string // contiguous except for gapMark
	cut  bool   // the beginning was dropped
	gap  bool   // text contains gapMark
	last string // the last lines, if what precedes them is unknown
}

// push processes a report and returns what it adds to text.
func (o *commandOutput) push(u stream.ProgressUpdate) string {
	piece := ""
	if u.FullOutput != "" {
		piece = o.window(u.FullOutput)
	} else if u.Text != "" {
		piece = o.lines(u.Text)
	}
	o.add(piece)
	return piece
}

// add appends to text.
func (o *commandOutput) add(piece string) {
	o.text += piece
	if over := len(o.text) - maxOutput; over > 0 {
		if end := strings.IndexByte(o.text[over:], '\n'); end >= 0 {
			over += end + 1
		}
		o.text, o.cut = strings.ToValidUTF8(o.text[over:], ""), true
	}
}

// window processes the last part of the output.
func (o *commandOutput) window(end string) string {
	if !o.cut && strings.HasPrefix(end, o.text) {
		return end[len(o.text):]
	}
	if n := overlap(o.text, end); n > 0 {
		return end[n:]
	}
	o.gap = true
	return gapMark + end
}

// lines processes the last two lines of the output; with a single line, the first is empty. They continue text if they overlap with its
// last line. Otherwise output in between was not reported, and they are kept separately.
func (o *commandOutput) lines(text string) string {
	before, last, two := strings.Cut(text, "\n")
	if !two {
		before, last = "", text
	}
	known := o.text[strings.LastIndexByte(o.text, '\n')+1:]
	piece, follows := "", true
	switch {
	case o.last != "":
		follows = false
	case before == "": // there was only one line
		follows = !strings.Contains(o.text, "\n") && strings.HasPrefix(last, known)
		piece = strings.TrimPrefix(last, known)
	case o.text == "":
		follows = false
	case strings.HasSuffix(o.text, text):
	case known == before:
		piece = "\n" + last
	case strings.HasSuffix(o.text, before+"\n"+known) && strings.HasPrefix(last, known):
		piece = last[len(known):]
	default:
		follows = false
	}
	if follows {
		return piece
	}
	o.last = text
	return ""
}

// shown returns the output for clients that replace it each time.
func (o *commandOutput) shown() string {
	text := o.text
	if o.cut {
		text = strings.TrimPrefix(gapMark, "\n") + text
	}
	if o.last != "" {
		text += gapMark + strings.TrimPrefix(o.last, "\n")
	}
	return strings.TrimPrefix(text, "\n")
}

// rest returns what the whole output from the result adds to text, or false if text is not a prefix of it.
func (o *commandOutput) rest(whole string) (string, bool) {
	trimmed := strings.TrimRight(whole, "\n")
	switch {
	case o.text == "":
		return whole, true
	case o.gap:
		return "", false
	case !o.cut && strings.HasPrefix(whole, o.text):
		return whole[len(o.text):], true
	case !o.cut && strings.HasPrefix(o.text, trimmed):
		return "", true // it wrote more after droid took its result
	}
	mark := outputGap().FindStringIndex(whole)
	if mark == nil {
		return "", false
	}
	head, tail := whole[:mark[0]], strings.TrimRight(whole[mark[1]:], "\n")
	switch {
	case tail == "" || !o.cut && !strings.HasPrefix(o.text, head):
		return "", false
	case strings.HasSuffix(strings.TrimRight(o.text, "\n"), tail):
		return "", true
	}
	n := overlap(o.text, tail)
	return tail[n:], n > 0
}

// outputGap matches the place where droid shortened a long output (0.99 to 0.225).
var outputGap = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\n\[\.\.\. (truncated \d+ bytes|\d+ lines skipped)[^\n]*\]\n`)
})

// overlap returns the length of the longest suffix of a that is a prefix of b, or 0 if it is too short to be significant.
func overlap(a, b string) int {
	for n := min(len(a), len(b)); n >= min(minOverlap, len(a), len(b)) && n > 0; n-- {
		if strings.HasSuffix(a, b[:n]) {
			return n
		}
	}
	return 0
}
