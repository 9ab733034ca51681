package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"droid-acp/internal/sys/files"

	"go.uber.org/zap"
)

// Query selects sessions.
type Query struct {
	// CWD, if not "", selects the sessions of this directory, including other paths that lead to it. It must be absolute.
	CWD    string
	Cursor string // NextCursor of the previous page, "" for the first page
	Limit  int    // maximum number of sessions on the page; 0 for defaultLimit

	Archived ArchiveFilter // applies before pages are made
}

// ArchiveFilter selects sessions by whether they are archived; "" is ExcludeArchived.
type ArchiveFilter string

// The filters, in ACP's words.
const (
	ExcludeArchived ArchiveFilter = "exclude"
	IncludeArchived ArchiveFilter = "include"
	OnlyArchived    ArchiveFilter = "only"
)

// accepts reports whether the filter selects a session.
func (f ArchiveFilter) accepts(archived bool) bool {
	return f == IncludeArchived || archived == (f == OnlyArchived)
}

// defaultLimit is the size of a page if the query does not set it.
const defaultLimit = 50

// Page is a part of the list.
type Page struct {
	Sessions   []Session
	NextCursor string // "" on the last page
}

// List returns sessions, newest first, those of the same time by ID. It omits sessions that are not the user's own (subagents, workers of
// missions, side conversations), and those without messages. Of a thread it lists the newest session, under the ID that the thread began
// with, see Thread.
//
// Files that droid could not load as a session are skipped and counted in one line of the log. A session without a directory is skipped,
// too, if the query has no CWD; otherwise droid's name of the project selects it.
//
// A session that changes between two pages moves to the beginning of the list; all others are on exactly one page. The error is a
// *BadCursorError, that of ctx, or that of reading the store's directory or the archive; a store that does not exist is empty.
func (s *Store) List(ctx context.Context, q Query) (Page, error) {
	after, err := parseCursor(q.Cursor)
	if err != nil {
		return Page{}, err
	}
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	var skipped skips
	defer func() { skipped.report(s.log) }()
	files, several, err := s.candidates(ctx, &skipped)
	if err != nil {
		return Page{}, err
	}
	archive, err := s.readArchive()
	if err != nil {
		return Page{}, err
	}
	l := lister{filter: newFilter(q.CWD), archive: archive, archived: q.Archived, skipped: &skipped, several: several, seen: map[string]bool{}, after: after, threads: &threads{newFamily(s.links(), files), map[string]bool{}}}
	files = l.promising(files)
	page, last := Page{}, cursor{}
	for ahead := range slices.Chunk(files, readAhead) {
		if err := ctx.Err(); err != nil {
			return Page{}, err
		}
		for i, look := range l.read(ahead) {
			c := ahead[i]
			if look.err != nil && !l.onPage(c) && !several[c.id] {
				continue // it was on the previous page
			}
			session, ok := l.accept(c, look)
			if !ok {
				continue
			}
			if len(page.Sessions) == limit {
				page.NextCursor = last.String()
				return page, nil
			}
			last = cursor{true, c.updated, c.id}
			page.Sessions = append(page.Sessions, session)
		}
	}
	return page, nil
}

const (
	readAhead = 64 // files whose beginnings are read before the first of them is needed
	readers   = 8  // concurrent readers: with a cold cache the disk is slower than this program
)

// lister turns files into sessions.
type lister struct {
	readers  [readers]reader
	filter   filter
	archive  archive
	archived ArchiveFilter
	skipped  *skips
	several  map[string]bool // IDs of several files
	seen     map[string]bool // IDs of several files whose newest readable file was processed
	threads  *threads
	after    cursor // files before it may represent threads whose older sessions follow
}

// samples is how many sessions of another project are read to decide whether any of it can match the filter. If no other project has more
// than sampleAll sessions, all are read.
const (
	samples   = 2
	sampleAll = 250
)

// promising removes the projects that cannot match the filter, so that their files are not read: with a cold disk cache that is most of the
// time of a list. droid names a project's directory after the working directory, so a project of another name matches only through a
// symbolic link, or if its newest sessions moved here (lastCwd). In a large store this misses an older session that moved here if the
// newest ones of its project did not.
func (l *lister) promising(files []candidate) []candidate {
	if l.filter.cwd == "" {
		return files
	}
	keep := map[string]bool{"": true, project(l.filter.cwd): true, project(l.filter.real): true}
	ask := slices.DeleteFunc(slices.Clone(files), func(c candidate) bool { return keep[c.dir.name] })
	if len(ask) > sampleAll {
		sampled := map[string]int{}
		ask = slices.DeleteFunc(ask, func(c candidate) bool {
			sampled[c.dir.name]++
			return sampled[c.dir.name] > samples
		})
	}
	for i, k := range l.read(ask) {
		if k.err != nil || l.filter.accepts(k.head.firstRecord, ask[i].dir) {
			keep[ask[i].dir.name] = true
		}
	}
	return slices.DeleteFunc(files, func(c candidate) bool { return !keep[c.dir.name] && !l.several[c.id] })
}

// headResult is the result of reading a file's beginning.
type headResult struct {
	head   head
	wanted bool // by the filter; the head is complete
	err    error
}

// read reads the beginnings of files, in their order.
func (l *lister) read(files []candidate) []headResult {
	looks := make([]headResult, len(files))
	var next atomic.Int64
	var all sync.WaitGroup
	for i := range l.readers {
		all.Go(func() {
			for n := next.Add(1) - 1; n < int64(len(files)); n = next.Add(1) - 1 {
				looks[n] = l.readHead(&l.readers[i], files[n])
			}
		})
	}
	all.Wait()
	return looks
}

// readHead reads the beginning of one file. A panic affects this file only.
func (l *lister) readHead(r *reader, c candidate) (k headResult) {
	defer func() {
		if p := recover(); p != nil {
			k = headResult{err: fmt.Errorf("droid-acp failed: %v", p)}
		}
	}()
	k.head, k.err = r.read(c.path(), func(s firstRecord) bool {
		k.wanted = l.onPage(c) && l.filter.accepts(s, c.dir)
		return k.wanted || s.Parent != "" // it may be a compaction of that
	})
	return k
}

// onPage reports whether the session of a file can be on the page.
func (l *lister) onPage(c candidate) bool { return l.after.before(c.updated, c.id) }

// accept makes the session of a file; the second result reports whether it is listed. Files must be passed in the order of sessions.
func (l *lister) accept(c candidate, k headResult) (Session, bool) {
	if l.seen[c.id] {
		return Session{}, false
	}
	if k.err != nil {
		l.skipped.add(c.path(), k.err)
		return Session{}, false
	}
	if l.several[c.id] {
		l.seen[c.id] = true
	}
	place := l.threads.lookup(c, k.head)
	if !k.wanted || place.covered || k.head.internal(len(place.before) > 0) {
		return Session{}, false
	}
	session := k.head.session(place.id, c.updated)
	session.Thread = append(place.before, c.id)
	if session.Archived = l.archive.has(session.Thread); !l.archived.accepts(session.Archived) {
		return Session{}, false
	}
	if !k.head.named() {
		session.Title = cmp.Or(l.threads.titleOf(place.before), session.Title)
	}
	if session.CWD == "" {
		if session.CWD = l.filter.cwd; session.CWD == "" {
			l.skipped.add(c.path(), errForeign)
			return Session{}, false
		}
	}
	return session, true
}

// filter selects sessions by directory.
type filter struct {
	cwd, real string    // the directory, cleaned, and with symbolic links resolved; "" accepts all
	resolved  *sync.Map // resolved directories of sessions: string to string
}

func newFilter(cwd string) filter {
	if cwd == "" {
		return filter{}
	}
	cwd = filepath.Clean(cwd)
	return filter{cwd, files.RealPath(cwd), new(sync.Map)}
}

func (f filter) accepts(s firstRecord, dir directory) bool {
	if f.cwd == "" {
		return true
	}
	cwd := s.cwd()
	switch cwd {
	case f.cwd:
		return true
	case "":
		return dir.name != "" && (dir.name == project(f.cwd) || dir.name == project(f.real))
	}
	target, known := f.resolved.Load(cwd)
	if !known {
		target = files.RealPath(cwd)
		f.resolved.Store(cwd, target)
	}
	return target == f.real
}

// project returns droid's name of the directory for the sessions of cwd.
func project(cwd string) string {
	return strings.ReplaceAll(filepath.ToSlash(cwd), "/", "-")
}

// skips counts files that are not listed, by reason.
type skips struct {
	damaged, foreign, unreadable int
	example                      string // one of them
	reason                       error
}

func (s *skips) add(path string, err error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return // removed concurrently
	case errors.Is(err, errDamaged):
		s.damaged++
	case errors.Is(err, errForeign):
		s.foreign++
	default:
		s.unreadable++
	}
	if s.example == "" {
		s.example, s.reason = path, err
	}
}

func (s *skips) report(log *zap.Logger) {
	if s.damaged+s.foreign+s.unreadable == 0 {
		return
	}
	log.Info("skipped files in droid's session store",
		zap.Int("damaged", s.damaged), zap.Int("foreign", s.foreign), zap.Int("unreadable", s.unreadable),
		zap.String("example", s.example), zap.NamedError("reason", s.reason))
}
