package store

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"go.uber.org/zap"
)

// Query selects sessions.
type Query struct {
	// CWD, when not "", selects the sessions of this directory, also by another
	// path that leads to it. It must be absolute.
	CWD    string
	Cursor string // NextCursor of the page before, "" for the first page
	Limit  int    // of sessions on the page; 0 takes DefaultLimit
}

// DefaultLimit is the length of a page when the query does not say.
const DefaultLimit = 50

// Page is a part of the list.
type Page struct {
	Sessions   []Session
	NextCursor string // "" on the last page
}

// List returns sessions, newest first, those of the same time by id. It leaves
// out what is the user's no session: subagents, workers of missions, side
// conversations, and sessions in which nothing was said.
//
// Files that are no session that droid could load are skipped and counted in
// one line of the log. So is, without CWD, a session that does not tell its
// directory; droid's name for the project is then enough to select it by CWD.
//
// A session that changes between two pages moves to the beginning of the list;
// all others are on exactly one page. The error is a *BadCursorError, ctx's, or
// that of reading the store's directory; a store that does not exist is empty.
func (s *Store) List(ctx context.Context, q Query) (Page, error) {
	after, err := parseCursor(q.Cursor)
	if err != nil {
		return Page{}, err
	}
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	var skipped skips
	defer func() { skipped.report(s.log) }()
	files, several, err := s.candidates(ctx, &skipped)
	if err != nil {
		return Page{}, err
	}
	l := lister{filter: newFilter(q.CWD), skipped: &skipped, several: several, seen: map[string]bool{}}
	page := Page{}
	for _, c := range files {
		if err := ctx.Err(); err != nil {
			return Page{}, err
		}
		isAfter := after.before(c.updated, c.id)
		if !isAfter && !several[c.id] {
			continue
		}
		session, ok := l.load(c)
		if !ok || !isAfter {
			continue
		}
		if len(page.Sessions) == limit {
			last := page.Sessions[limit-1]
			page.NextCursor = cursor{true, last.UpdatedAt, last.ID}.String()
			break
		}
		page.Sessions = append(page.Sessions, session)
	}
	return page, nil
}

// lister turns files into sessions.
type lister struct {
	reader  reader
	filter  filter
	skipped *skips
	several map[string]bool // ids of several files
	seen    map[string]bool // those of them of which the newest file is done
}

// load reads one file; the second result says whether it is listed.
func (l *lister) load(c candidate) (Session, bool) {
	if l.seen[c.id] {
		return Session{}, false
	}
	wanted := false
	h, err := l.reader.read(c.path(), func(s start) bool {
		wanted = l.filter.accepts(s, c.dir)
		return wanted
	})
	if err != nil {
		l.skipped.add(c.path(), err)
		return Session{}, false
	}
	if l.several[c.id] {
		l.seen[c.id] = true
	}
	if !wanted || h.internal() {
		return Session{}, false
	}
	session := h.session(c.id, c.updated)
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
	cwd, real string            // cleaned, with symbolic links resolved; "" accepts all
	resolved  map[string]string // directories of sessions
}

func newFilter(cwd string) filter {
	if cwd == "" {
		return filter{}
	}
	cwd = filepath.Clean(cwd)
	return filter{cwd, resolve(cwd), map[string]string{}}
}

// resolve follows symbolic links; what is not there stays as it is.
func resolve(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

func (f filter) accepts(s start, dir directory) bool {
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
	target, known := f.resolved[cwd]
	if !known {
		target = resolve(cwd)
		f.resolved[cwd] = target
	}
	return target == f.real
}

// project is droid's name of the directory for the sessions of cwd.
func project(cwd string) string {
	return strings.ReplaceAll(filepath.ToSlash(cwd), "/", "-")
}

// skips counts files that are not listed because of what they are.
type skips struct {
	damaged, foreign, unreadable int
	example                      string // one of them
	reason                       error
}

func (s *skips) add(path string, err error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return // removed just now
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
