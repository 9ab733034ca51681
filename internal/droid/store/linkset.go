// The lines of the file that says in which session of droid's a thread goes on. droid makes a new session when a
// conversation is compacted or rewound, and its own files do not tell a rewind from a fork. A line is one Link as JSON.
// Lines are only added; a later line of the same From counts instead of an earlier one. All in this file is pure.

package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/text/visible"
)

// LinkKind is what made the new session.
type LinkKind string

// The kinds that are written. Others that are read count alike.
const (
	LinkCompact LinkKind = "compact"
	LinkRewind  LinkKind = "rewind"
	LinkMoved   LinkKind = "moved" // droid went on in another session by itself
	LinkStays   LinkKind = "stays" // From and To are the same session: the thread did not go on elsewhere
	// LinkOptions has the values of options that are this program's own and no link: From and To
	// are the session that was the thread's newest.
	LinkOptions LinkKind = "options"
)

// Link says that the thread which was in the session From goes on in To.
type Link struct {
	From  string    `json:"from"`
	To    string    `json:"to"`
	Kind  LinkKind  `json:"kind"`
	Time  time.Time `json:"time"`
	Title string    `json:"title,omitempty"` // of the thread when the link was made

	FollowUp string `json:"followUp,omitempty"` // with LinkOptions: the value of that option
}

const (
	// maxLinkLine bounds a line in bytes; longer ones are not read.
	maxLinkLine = 4 << 10
	// maxLinkTitle bounds a title in bytes.
	maxLinkTitle = 800
	// maxLinks bounds how many links of one thread are followed.
	maxLinks = 1000
)

// Line is the link as a line of the file, with its end. The error says that an id
// is none, see stream.ValidSessionID.
func (l Link) Line() ([]byte, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	l.Time = l.Time.UTC().Truncate(time.Millisecond)
	l.Title = visible.Line(l.Title)
	if len(l.Title) > maxLinkTitle {
		l.Title = ""
	}
	line, err := json.Marshal(l)
	return append(line, '\n'), err
}

func (l Link) check() error {
	for _, id := range []string{l.From, l.To} {
		if !stream.ValidSessionID(id) {
			return fmt.Errorf("%.40q is not the id of a session", id)
		}
	}
	return nil
}

// linkSet is the links that count.
type linkSet struct {
	last    map[string]linkLine     // the newest of each From
	into    map[string][]linkOrigin // of each To, in their order; the first one counts
	options map[string]linkLine     // the newest of kind LinkOptions of each From
	lines   int                     // how many were added
}

// linkLine is a link that counts, and linkOrigin where it stands: of two links with the same From
// the numbers differ.
type linkLine struct {
	Link
	number int
	raw    []byte // as it was read, with what a newer version wrote into it
}

type linkOrigin struct {
	from   string
	number int
}

// newLinkSet returns a set without links.
func newLinkSet() *linkSet {
	return &linkSet{last: map[string]linkLine{}, into: map[string][]linkOrigin{}, options: map[string]linkLine{}}
}

// parseLinks reads the lines of a file. Those that are damaged, too long or name no
// valid ids are skipped.
func parseLinks(data []byte) *linkSet {
	s := newLinkSet()
	for line := range bytes.Lines(data) {
		var l Link
		if len(line) > maxLinkLine || json.Unmarshal(line, &l) != nil || l.check() != nil {
			continue
		}
		l.Title = visible.Line(l.Title)
		s.add(l, bytes.TrimSpace(line))
	}
	return s
}

// add takes a link that is newer than all others. If To led back to From, that link
// no longer counts: the set never has a circle.
func (s *linkSet) add(l Link, raw []byte) {
	s.lines++
	if l.Kind == LinkOptions {
		s.options[l.From] = linkLine{l, s.lines, raw}
		return
	}
	s.drop(l.From)
	if l.To != l.From {
		if s.leads(l.To, l.From) {
			s.drop(l.To)
		}
		s.into[l.To] = append(s.into[l.To], linkOrigin{l.From, s.lines})
	}
	s.last[l.From] = linkLine{l, s.lines, raw}
}

// drop takes back the link of this session, if it has one.
func (s *linkSet) drop(from string) {
	l, ok := s.last[from]
	if !ok {
		return
	}
	delete(s.last, from)
	if l.To == from {
		return
	}
	list := s.into[l.To]
	for len(list) > 0 && s.last[list[0].from].number != list[0].number {
		list = list[1:]
	}
	s.into[l.To] = list
}

// leads reports whether the path from one session ends at another. One that is too long to
// follow counts as one that does.
func (s *linkSet) leads(from, to string) bool {
	for range maxLinks {
		l, ok := s.Next(from)
		if !ok {
			return from == to
		}
		from = l.To
	}
	return true
}

// Next is the link by which a thread goes on from this session, if it does.
func (s *linkSet) Next(id string) (Link, bool) {
	l, ok := s.last[id]
	return l.Link, ok && l.To != l.From
}

// Last is the newest line about where the thread of this session goes on, also when
// it says that it stays.
func (s *linkSet) Last(id string) (Link, bool) {
	l, ok := s.last[id]
	return l.Link, ok
}

// Before is the link that leads to this session, if one does: of several the one
// that was made first.
func (s *linkSet) Before(id string) (Link, bool) {
	if len(s.into[id]) == 0 {
		return Link{}, false
	}
	return s.last[s.into[id][0].from].Link, true
}

// FollowUp is the value of that option in the thread with these ids, the oldest first, "" when
// nobody has set it.
func (s *linkSet) FollowUp(ids []string) string {
	for _, id := range slices.Backward(ids) {
		if value := s.options[id].FollowUp; value != "" {
			return value
		}
	}
	return ""
}

// Keep returns the lines, oldest first, of the links that lead to a session for which
// exists returns true, at most max bytes of the newest.
func (s *linkSet) Keep(exists func(id string) bool, max int) []byte {
	away := make(map[string]int, len(s.last)) // how far the next session is that exists
	var kept []linkLine
	for _, list := range []map[string]linkLine{s.last, s.options} {
		for from, l := range list {
			if s.distance(from, exists, away) <= maxLinks {
				kept = append(kept, l)
			}
		}
	}
	return encodeLinks(kept, max)
}

// distance is over how many links the path from a session first leads to one that exists, at most
// more than maxLinks. known has what was found before.
func (s *linkSet) distance(id string, exists func(id string) bool, known map[string]int) int {
	n, ok := known[id]
	if ok {
		return n
	}
	n = maxLinks + 1
	if exists(id) {
		n = 0
	} else if l, ok := s.Next(id); ok {
		n = min(s.distance(l.To, exists, known)+1, n)
	}
	known[id] = n
	return n
}

// encode returns the lines of links in the order of their times, without the oldest
// ones when all are longer than max bytes.
func encodeLinks(list []linkLine, max int) []byte {
	slices.SortFunc(list, func(a, b linkLine) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.From, b.From)) })
	lines := make([][]byte, 0, len(list))
	size := 0
	for _, l := range slices.Backward(list) {
		line := append(slices.Clip(l.raw), '\n')
		if size += len(line); size > max {
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return slices.Concat(lines...)
}
