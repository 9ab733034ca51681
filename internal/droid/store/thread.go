package store

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"

	"droid-acp/internal/droid/stream"
)

// A thread is one conversation of the user in one or several sessions: droid makes a new one when the conversation is compacted or rewound.
// The file of links records in which session the thread continues; for a compaction in droid's own UI, droid's files do.

// Thread returns the IDs of the thread that the session belongs to: the one that the thread began with, its successors, and the newest. The
// result contains at least the ID itself, which need not be in the store. It includes sessions that are no longer in the store, since an
// editor may know the thread by them, but the last one is in the store if any of those after id is. An error means that the thread cannot
// be determined, and says what to do: a caller that continued without it would work on an outdated conversation.
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
	ids := newFamily(links, files).thread(id)
	for l, more := links.Next(ids[len(ids)-1]); more; l, more = links.Next(l.To) {
		if err := s.checkReadable(l.To); err != nil {
			return nil, errUnknownThread(err)
		}
	}
	return ids, nil
}

// checkReadable returns an error if it cannot be told whether the store has a session.
func (s *Store) checkReadable(id string) error {
	dirs, _, err := s.directories()
	for _, d := range dirs {
		if _, err := os.Stat(d.file(id + transcript)); err != nil && !isMissing(err) {
			return err
		}
	}
	return err
}

// Title returns the title by which List lists the thread with this newest session, "" if it has none or the session is not in the store.
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

// titleOf returns the title of a thread when it was in these sessions, oldest first, "" if none. It is for a session without a name of its
// own.
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

// family follows the sessions of threads. It caches what it has read of files.
type family struct {
	links    *linkSet
	files    map[string]candidate   // by ID; of copies the one used last
	dirs     map[string]*dirFiles   // by path
	children map[string][]candidate // sessions that droid made by compacting a session, by that session's ID
	heads    map[string]head        // by path; an empty one for a file that cannot be read
	nexts    map[string]string      // results of next
	ahead    map[string]int         // results of stepsAhead
	asked    int                    // number of calls of next, for tests
	read     reader
}

// dirFiles are the files of a directory, the one used last first.
type dirFiles struct {
	files   []candidate
	indexed int // number of files whose parents were read
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

// maxThread is how many sessions of a thread are followed in either direction.
const maxThread = 1000

// thread implements Thread.
func (f *family) thread(id string) []string { return f.withPredecessors(id, f.withSuccessors(id)) }

// withPredecessors returns the predecessors of the session, followed by after, which begins with the session.
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

// withSuccessors returns the session and its successors in the thread, without those at the end that are not in the store, unless none is.
func (f *family) withSuccessors(id string) []string {
	path, place := []string{id}, map[string]int{id: 0}
	for at := id; len(path) < maxThread; {
		to := f.next(at)
		if to == "" {
			break
		}
		if i, again := place[to]; again {
			path = path[:i+1+f.newest(path[i:])] // a cycle: the one used last counts
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

// newest returns the index of the session used last.
func (f *family) newest(ids []string) (n int) {
	for i, id := range ids {
		a, b := f.files[id], f.files[ids[n]]
		if order(a.updated, id, b.updated, ids[n]) < 0 {
			n = i
		}
	}
	return n
}

// cyclic is the value of family.ahead for a path that is a cycle, or leads to one.
const cyclic = -1

// continues reports whether a thread continues after this session, which is in the store: whether withSuccessors returns more than it.
func (f *family) continues(id string) bool {
	n := f.stepsAhead(id)
	if n == cyclic {
		return len(f.withSuccessors(id)) > 1
	}
	return 0 < n && n < maxThread
}

// stepsAhead returns the number of steps from this session to the next one of its thread that is in the store, 0 if there is none, or
// cyclic. Each session is visited once.
func (f *family) stepsAhead(id string) int {
	n, known := f.ahead[id]
	if known {
		return n
	}
	f.ahead[id] = cyclic // for a path that returns here
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

// next returns the session in which the thread continues after this one, "" if none.
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

// before returns the session in which the thread was before this one.
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

// head returns the beginning of a file. Without a parent it has the first line only.
func (f *family) head(c candidate) head {
	h, known := f.heads[c.path()]
	if !known {
		h, _ = f.read.read(c.path(), func(s firstRecord) bool { return s.Parent != "" }) // what cannot be read has no parent
		f.heads[c.path()] = h
	}
	return h
}

// compacted returns the session that droid made by compacting this one, and the time; of several the latest, "" if none. Both are in the
// same directory, and the new one was used later.
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

// compactionSlack is how long after a compaction droid may still write to the compacted session.
const compactionSlack = 2 * time.Second

// compactionOf reports whether droid made this session by compacting its parent, and the parent was not used since: a user who continues
// the old conversation has two threads.
//
// The new session begins with a line of type compaction_state, and names its parent (0.215, 0.225). A fork or rewind of it begins in the
// same way; 0.215 and later record where it was forked. A session of an older droid may be either, so it is a separate thread.
func (h head) compactionOf(parent candidate) bool {
	return h.compaction != "" && h.Host != "" && len(h.ForkedAt) == 0 && !parent.updated.After(h.compactedAt.Add(compactionSlack))
}

// threads determines, for the files of a list in their order, which of them represent a thread, and under which ID.
type threads struct {
	*family
	used map[string]bool // IDs under which a thread was listed
}

// listing is how a session appears in the list.
type listing struct {
	covered bool     // a later session of its thread represents it
	id      string   // by which the thread is listed
	before  []string // the thread's previous sessions, in their order
}

// lookup returns the listing of a session with the beginning h.
func (t *threads) lookup(c candidate, h head) listing {
	if _, known := t.heads[c.path()]; !known {
		t.heads[c.path()] = h
	}
	if t.continues(c.id) {
		return listing{covered: true}
	}
	ids := t.withPredecessors(c.id, []string{c.id})
	p := listing{id: c.id, before: ids[:len(ids)-1]}
	if !t.used[ids[0]] { // otherwise another one has it already
		p.id = ids[0]
	}
	t.used[p.id] = true
	return p
}
