// Links record in which of droid's sessions a thread continues. droid makes a new session when a conversation is compacted or rewound, and
// its own files do not distinguish a rewind from a fork. A line of the file is one Link as JSON. Lines are only appended; a later line with
// the same From overrides an earlier one. Everything in this file is pure.

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

// LinkKind is the cause of a new session.
type LinkKind string

// Kinds that are written. Other values that are read have the same effect.
const (
	LinkCompact LinkKind = "compact"
	LinkRewind  LinkKind = "rewind"
	LinkMoved   LinkKind = "moved" // droid continued in another session by itself
	LinkStays   LinkKind = "stays" // From and To are the same session: the thread did not continue elsewhere
	// LinkOptions records options of this program and is not a link: From and To are the session that was the thread's newest.
	LinkOptions LinkKind = "options"
)

// Link records that the thread in session From continues in To.
type Link struct {
	From  string    `json:"from"`
	To    string    `json:"to"`
	Kind  LinkKind  `json:"kind"`
	Time  time.Time `json:"time"`
	Title string    `json:"title,omitempty"` // the thread's title at that time

	FollowUp string `json:"followUp,omitempty"` // with LinkOptions: the value of that option
}

const (
	// maxLinkLine is the maximum length of a line in bytes; longer ones are ignored.
	maxLinkLine = 4 << 10
	// maxLinkTitle is the maximum length of a title in bytes.
	maxLinkTitle = 800
	// maxLinks is how many links of one thread are followed.
	maxLinks = 1000
)

// Line returns the link as a line of the file, with its end. The error means that an ID is invalid, see stream.ValidSessionID.
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

// linkSet is the set of effective links.
type linkSet struct {
	last    map[string]linkLine     // the newest of each From
	into    map[string][]linkOrigin // by To, in their order; the first one counts
	options map[string]linkLine     // the newest LinkOptions of each From
	lines   int                     // number of lines added
}

// linkLine is an effective link, and linkOrigin its position: two links with the same From have different numbers.
type linkLine struct {
	Link
	number int
	raw    []byte // as it was read, including fields of newer versions
}

type linkOrigin struct {
	from   string
	number int
}

// newLinkSet returns an empty set.
func newLinkSet() *linkSet {
	return &linkSet{last: map[string]linkLine{}, into: map[string][]linkOrigin{}, options: map[string]linkLine{}}
}

// parseLinks parses the lines of a file. Lines that are damaged, too long or without valid IDs are skipped.
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

// add adds a link that is newer than all others. If To led back to From, that link is removed: the set never has a cycle.
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

// drop removes the link of this session, if it has one.
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

// leads reports whether the path from one session ends at another, or is too long to follow.
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

// Next returns the link by which a thread continues from this session, if there is one.
func (s *linkSet) Next(id string) (Link, bool) {
	l, ok := s.last[id]
	return l.Link, ok && l.To != l.From
}

// Last returns the newest line about where the thread of this session continues, including one that says it stays.
func (s *linkSet) Last(id string) (Link, bool) {
	l, ok := s.last[id]
	return l.Link, ok
}

// Before returns the link that leads to this session, if there is one: of several the oldest.
func (s *linkSet) Before(id string) (Link, bool) {
	if len(s.into[id]) == 0 {
		return Link{}, false
	}
	return s.last[s.into[id][0].from].Link, true
}

// FollowUp returns the value of that option in the thread with these IDs, the oldest first, "" if it is not set.
func (s *linkSet) FollowUp(ids []string) string {
	for _, id := range slices.Backward(ids) {
		if value := s.options[id].FollowUp; value != "" {
			return value
		}
	}
	return ""
}

// Keep returns the lines, oldest first, of the links that lead to a session for which exists returns true, at most max bytes of the newest.
func (s *linkSet) Keep(exists func(id string) bool, max int) []byte {
	away := make(map[string]int, len(s.last)) // number of links to the next existing session
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

// distance returns the number of links from a session to the first existing one, more than maxLinks if it is too far. known caches results.
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

// encode returns the lines of links ordered by time, without the oldest ones if all exceed max bytes.
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
