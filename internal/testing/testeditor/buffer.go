package testeditor

import (
	"sort"
	"strings"
)

// author is who made an edit.
type author int

const (
	user author = iota
	agent
)

// buffer is the text of an open file. The editor's mutex guards it.
type buffer struct {
	path    string
	text    string
	crlf    bool // the file has \r\n
	bom     bool // the file begins with a byte order mark
	exists  bool // the file is on the disk, as far as the editor knows
	deleted bool // it was, and is no longer
	version int  // number of edits
	saved   int  // the version on the disk

	log    []op      // all edits, in order
	read   *snapshot // what the agent read last
	review *review   // nil if the agent has changed nothing

	turn   chan struct{} // has a token if no save is running
	saving bool
	saves  int   // number of saves
	seen   state // of the file, when last checked
	loaded state // of the file, when it was opened, reloaded or saved
	loads  int   // number of reloads begun; a new one cancels the previous one
}

// snapshot is a former text of a buffer.
type snapshot struct {
	text string
	at   int // number of edits at that time
}

// review is a file's entry in the list of changes.
type review struct {
	base    string // the text without the agent's edits
	created bool   // by the agent
	mixed   bool   // the user has edited it since
}

// op is a replaced range of a text.
type op struct{ start, old, new int }

// edit replaces a range of a text.
type edit struct {
	start, end int
	text       string
}

func (b *buffer) dirty() bool { return b.version != b.saved }

func (b *buffer) snapshot() snapshot { return snapshot{b.text, len(b.log)} }

// difference returns the edits of whole lines that turn old into new.
func difference(old, new string) []edit {
	if old == new {
		return nil
	}
	oldLines, newLines := splitLines(old), splitLines(new)
	var edits []edit
	offset, line := 0, 0
	forward := func(to int) int {
		for ; line < to; line++ {
			offset += len(oldLines[line])
		}
		return offset
	}
	for _, h := range compare(oldLines, newLines) {
		start := forward(h.old.from)
		edits = append(edits, edit{start, forward(h.old.to), strings.Join(newLines[h.new.from:h.new.to], "")})
	}
	return edits
}

// anchored moves edits of a snapshot to their current positions in the buffer. The start of an edit stays with the character after it, the
// end with the one before it. If these characters were removed, both are after the text that replaced them.
func (b *buffer) anchored(s snapshot, edits []edit) []edit {
	var moved []edit
	for _, e := range edits {
		for _, o := range b.log[s.at:] {
			e.start, e.end = o.move(e.start, true), o.move(e.end, false)
		}
		if e.start > e.end { // text was inserted exactly where nothing was to be replaced
			e.start, e.end = e.end, e.start
		}
		moved = append(moved, e)
	}
	sort.SliceStable(moved, func(i, j int) bool { return moved[i].start < moved[j].start })
	var joined []edit
	for _, e := range moved {
		if n := len(joined); n > 0 && joined[n-1].end >= e.start {
			joined[n-1].end = max(joined[n-1].end, e.end)
			joined[n-1].text += e.text
			continue
		}
		joined = append(joined, e)
	}
	return joined
}

// move returns a position after o. It stays with the character after it, or with the one before it.
func (o op) move(place int, behind bool) int {
	with := place // the character
	if !behind {
		with--
	}
	switch {
	case with < o.start:
		return place
	case with < o.start+o.old:
		return o.start + o.new
	}
	return place + o.new - o.old
}

// apply applies edits of the current text. They must be ordered and must not overlap.
func (b *buffer) apply(edits []edit, by author) {
	before := b.text
	var text strings.Builder
	done := 0
	for _, e := range edits {
		text.WriteString(before[done:e.start])
		text.WriteString(e.text)
		done = e.end
	}
	text.WriteString(before[done:])
	if len(edits) == 0 {
		return
	}
	for i := len(edits) - 1; i >= 0; i-- { // from the end, so that no edit moves another
		e := edits[i]
		b.log = append(b.log, op{e.start, e.end - e.start, len(e.text)})
	}
	b.text = text.String()
	b.version++
	if by == user && b.review != nil && b.text != before {
		b.review.base = rebase(b.review.base, before, b.text)
		b.review.mixed = true
	}
}

// reviewed starts the record of the agent's changes.
func (b *buffer) reviewed() {
	if b.review == nil {
		b.review = &review{base: b.text, created: !b.exists && !b.deleted}
	}
}
