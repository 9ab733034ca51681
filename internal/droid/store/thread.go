package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"droid-acp/internal/droid/stream"
)

// A thread is one conversation of the user in one or several sessions: droid makes a
// new one when the conversation is compacted or rewound. In which session the thread
// goes on is told by the file of links, and for what was compacted in droid's own UI
// by droid's files.

// Thread returns the ids of the thread that the session belongs to: the one that
// the thread began with, those that came after it, and the newest. There is at least
// the id itself, which need not be in the store. Sessions that the store no longer
// has are among the ids, since an editor may know the thread by them, but the last
// one is in the store if any of those after id is. The error says that it cannot be told, and
// what to do: who went on without would work on a conversation from before.
func (s *Store) Thread(id string) ([]string, error) {
	if s.err != nil || !stream.ValidSessionID(id) {
		return []string{id}, nil
	}
	files, _, err := s.candidates(context.Background(), new(skips))
	if err != nil {
		return nil, errUnknownThread(err)
	}
	links, err := s.readLinks()
	if err != nil {
		return nil, err
	}
	return newFamily(links, files).thread(id), nil
}

// Title is what List calls the thread whose newest session this is, "" when it has no
// title or the session is not in the store.
func (s *Store) Title(id string) string {
	if s.err != nil {
		return ""
	}
	files, _, _ := s.candidates(context.Background(), new(skips)) // what cannot be read has no title
	f := newFamily(s.links(), files)
	c, there := f.files[id]
	if !there {
		return ""
	}
	h, _ := f.read.read(c.path(), nil) // the same
	if h.named() {
		return h.title()
	}
	ids := f.thread(id)
	return cmp.Or(f.titleOf(ids[:slices.Index(ids, id)]), h.title())
}

// titleOf is what a thread was called when it was in these sessions, oldest first, ""
// for none. It is for a session that nobody named.
func (f *family) titleOf(ids []string) string {
	for _, id := range slices.Backward(ids) {
		if l, ok := f.links.Next(id); ok && l.Title != "" {
			return l.Title
		}
		if c, there := f.files[id]; there {
			h, _ := f.read.read(c.path(), nil) // what cannot be read has no title
			if title := h.title(); title != "" {
				return title
			}
		}
	}
	return ""
}

// family follows the sessions of threads. It keeps what it has read of files.
type family struct {
	links    *linkSet
	files    map[string]candidate   // by id; of copies the one that was used last
	dirs     map[string]*dirFiles   // by path
	children map[string][]candidate // those that droid made by compacting a session, by that one's id
	heads    map[string]head        // of files, by path; of one that cannot be read an empty one
	nexts    map[string]string      // what next found
	ahead    map[string]int         // what stepsAhead found
	asked    int                    // how often next was called, for tests
	read     reader
}

// dirFiles are the files of a directory, those used last first.
type dirFiles struct {
	files   []candidate
	indexed int // so many were looked at for their parents
}

// newFamily takes all files of the store in the order of sessions.
func newFamily(set *linkSet, files []candidate) *family {
	f := &family{
		links: set, files: make(map[string]candidate, len(files)), dirs: map[string]*dirFiles{},
		children: map[string][]candidate{}, heads: map[string]head{}, nexts: map[string]string{}, ahead: map[string]int{},
	}
	for _, c := range files {
		if _, known := f.files[c.id]; !known {
			f.files[c.id] = c
		}
		d := f.dirs[c.dir.path]
		if d == nil {
			d = &dirFiles{}
			f.dirs[c.dir.path] = d
		}
		d.files = append(d.files, c)
	}
	return f
}

// maxThread bounds how many sessions of a thread are followed either way.
const maxThread = 1000

// thread is Thread.
func (f *family) thread(id string) []string { return f.withPredecessors(id, f.withSuccessors(id)) }

// withPredecessors is what came before the session, and then after, which it begins.
func (f *family) withPredecessors(id string, after []string) []string {
	seen := map[string]bool{}
	for _, one := range after {
		seen[one] = true
	}
	var before []string
	for len(before) < maxThread {
		from, ok := f.before(id)
		if !ok || seen[from] {
			break
		}
		seen[from] = true
		before = append(before, from)
		id = from
	}
	slices.Reverse(before)
	return append(before, after...)
}

// withSuccessors is the session and those in which its thread went on, without those at the
// end that are not in the store, unless none is.
func (f *family) withSuccessors(id string) []string {
	path, place := []string{id}, map[string]int{id: 0}
	for at := id; len(path) < maxThread; {
		to := f.next(at)
		if to == "" {
			break
		}
		if i, again := place[to]; again {
			path = path[:i+1+f.newest(path[i:])] // it goes round: the one that was used last counts
			break
		}
		place[to] = len(path)
		path = append(path, to)
		at = to
	}
	for n := len(path); n > 0; n-- {
		if _, there := f.files[path[n-1]]; there {
			return path[:n]
		}
	}
	return path
}

// newest is the number of the session that was used last.
func (f *family) newest(ids []string) (n int) {
	for i, id := range ids {
		a, b := f.files[id], f.files[ids[n]]
		if order(a.updated, id, b.updated, ids[n]) < 0 {
			n = i
		}
	}
	return n
}

// cyclic is what family.ahead has for a path that goes round, or leads to one that does.
const cyclic = -1

// continues reports whether a thread goes on after this session, which is in the store: whether
// after has more than it.
func (f *family) continues(id string) bool {
	n := f.stepsAhead(id)
	if n == cyclic {
		return len(f.withSuccessors(id)) > 1
	}
	return 0 < n && n < maxThread
}

// stepsAhead is how many steps after this session the next one of its thread comes that is
// in the store, 0 when none does, or cyclic. Each session is looked at once, whoever asks.
func (f *family) stepsAhead(id string) int {
	n, known := f.ahead[id]
	if known {
		return n
	}
	f.ahead[id] = cyclic // for who comes back here meanwhile
	if to := f.next(id); to != "" {
		_, there := f.files[to]
		switch n = f.stepsAhead(to); {
		case n == cyclic:
		case there:
			n = 1
		case n > 0:
			n++
		}
	}
	f.ahead[id] = n
	return n
}

// next is the session in which the thread goes on after this one, "" for none.
func (f *family) next(id string) string {
	f.asked++
	to, known := f.nexts[id]
	if !known {
		l, linked := f.links.Last(id)
		if to = l.To; to == id {
			to = "" // it stays
		}
		if made, at := f.compacted(id); made != "" && (!linked || at.After(l.Time)) {
			to = made
		}
		f.nexts[id] = to
	}
	return to
}

// before is the session in which the thread was before this one.
func (f *family) before(id string) (string, bool) {
	if l, ok := f.links.Before(id); ok && f.next(l.From) == id {
		return l.From, true
	}
	c, there := f.files[id]
	if !there {
		return "", false
	}
	parent := f.head(c).Parent
	return parent, f.next(parent) == id
}

// head is the beginning of a file. Without a parent it is its first line only.
func (f *family) head(c candidate) head {
	h, known := f.heads[c.path()]
	if !known {
		h, _ = f.read.read(c.path(), func(s firstRecord) bool { return s.Parent != "" }) // what cannot be read has no parent
		f.heads[c.path()] = h
	}
	return h
}

// compacted is the session that droid made by compacting this one, and when; of
// several the one that was made last, "" for none. Both lie in the same directory,
// and the new one was used later.
func (f *family) compacted(id string) (made string, at time.Time) {
	parent, there := f.files[id]
	if !there {
		return "", at
	}
	d := f.dirs[parent.dir.path]
	for d.indexed < len(d.files) && !d.files[d.indexed].updated.Before(parent.updated) {
		c := d.files[d.indexed]
		d.indexed++
		if h := f.head(c); h.compaction != "" && h.Parent != "" {
			f.children[h.Parent] = append(f.children[h.Parent], c)
		}
	}
	for _, c := range f.children[id] {
		h := f.head(c)
		if order(c.updated, c.id, parent.updated, parent.id) < 0 && h.compactedAt.After(at) && h.compactionOf(parent) {
			made, at = c.id, h.compactedAt
		}
	}
	return made, at
}

// compactionSlack is how long after a compaction droid may still write to the
// session that it compacted.
const compactionSlack = 2 * time.Second

// compactionOf reports whether droid made this session by compacting its parent, and
// the parent was not used any more since: who goes on with the old conversation has
// two threads.
//
// The new session begins with a line of type compaction_state, and names its parent
// (0.215, 0.225). A fork or rewind of it begins alike; 0.215 and later say where it was
// forked. What an older droid wrote may be either, so it is a thread of its own.
func (h head) compactionOf(parent candidate) bool {
	return h.compaction != "" && h.Host != "" && len(h.ForkedAt) == 0 && !parent.updated.After(h.compactedAt.Add(compactionSlack))
}

// threads finds out, for the files of a list in their order, which of them stand for
// a thread, and under which id.
type threads struct {
	*family
	used map[string]bool // ids under which a thread was listed
}

// listing is what a session is in the list.
type listing struct {
	covered bool     // a later session of its thread stands for it
	id      string   // by which the thread is listed
	before  []string // the sessions in which the thread was before, in their order
}

// lookup looks up a session, of which h is the beginning.
func (t *threads) lookup(c candidate, h head) listing {
	if _, known := t.heads[c.path()]; !known {
		t.heads[c.path()] = h
	}
	if t.continues(c.id) {
		return listing{covered: true}
	}
	ids := t.withPredecessors(c.id, []string{c.id})
	p := listing{id: c.id, before: ids[:len(ids)-1]}
	if !t.used[ids[0]] { // else another one has it already
		p.id = ids[0]
	}
	t.used[p.id] = true
	return p
}
