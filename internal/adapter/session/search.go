package session

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/files"
)

// SearchQuery says what is searched for in the stored sessions.
type SearchQuery struct {
	Text  string
	CWD   string // of the sessions; "" for those of all projects
	Limit int    // maximum number of sessions; 0 for searchLimit
}

const (
	searchLimit   = 10
	maxSearchText = 1000 // bytes
	// searchTime bounds a search, which takes 1 to 10 s (droid 0.99 to 0.225), the first one longer.
	searchTime = 45 * time.Second
)

var (
	errSearchTime = errors.New("droid did not end the search within 45 seconds, and was stopped; try again, as it keeps what it has read")
	errSearchBusy = errors.New("other searches took more than 45 seconds; try again when they have ended")
)

// FoundSession is a stored session in which droid has found a text.
type FoundSession struct {
	store.Session
	Hits []FoundText
}

// FoundText is a place where it has.
type FoundText struct {
	Kind, Role string // of droid's, see droid.Found
	Text       string // the text there
}

// Search has droid search the stored sessions, in droid's order. Deleted sessions, subagents and, with a directory, other projects are left
// out; archived sessions are not. What droid finds in an earlier session of a thread is the thread's.
func (d *Deps) Search(ctx context.Context, q SearchQuery) ([]FoundSession, *jsonrpc.Error) {
	q.Text = strings.TrimSpace(q.Text)
	switch {
	case q.Text == "":
		return nil, acperr.InvalidParams("query is missing; it is a text")
	case len(q.Text) > maxSearchText || strings.ContainsRune(q.Text, 0) || !utf8.ValidString(q.Text):
		return nil, acperr.InvalidParams("query is not a text of at most %d bytes", maxSearchText)
	case q.Limit < 0:
		return nil, acperr.InvalidParams("limit is %d; it is a number from 1 on", q.Limit)
	case q.Limit == 0:
		q.Limit = searchLimit
	}
	found, err := d.search(ctx, q)
	switch {
	case errors.Is(err, context.Canceled):
		return nil, acperr.Cancelled()
	case err != nil:
		return nil, acperr.Internal("search_failed", "The sessions were not searched: "+sentence(err))
	}
	return found, nil
}

// beginSearch waits until no other search runs: each is a process. The caller calls end when its own has ended.
func (d *Deps) beginSearch(ctx context.Context) (end func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, searchTime, errSearchBusy)
	defer cancel()
	select {
	case d.Searching <- struct{}{}:
		return func() { <-d.Searching }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (d *Deps) search(ctx context.Context, q SearchQuery) ([]FoundSession, error) {
	end, err := d.beginSearch(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	ctx, cancel := context.WithTimeoutCause(ctx, searchTime, errSearchTime)
	defer cancel()
	path, err := files.CallBounded(ctx, d.Calls, "Locate", "droid", func(string) (string, error) { return d.Config.Locate() })
	if err != nil {
		return nil, err
	}
	found, err := d.Config.Search(ctx, path, q.Text)
	if err != nil {
		return nil, err
	}
	page, err := d.ListStored(ctx, store.Query{CWD: q.CWD, Limit: math.MaxInt, Archived: store.IncludeArchived}) // after the search, in which one may be deleted
	if err != nil {
		return nil, err
	}
	return matchStored(found, page.Sessions, q.Limit), nil
}

// matchStored returns the first sessions of the store that droid has found something in.
func matchStored(found []droid.Found, stored []store.Session, limit int) (matches []FoundSession) {
	threads := map[string]store.Session{}
	for _, s := range stored {
		for _, id := range s.Thread {
			threads[id] = s
		}
	}
	for _, f := range found {
		s, known := threads[f.ID]
		if !known {
			continue
		}
		i := slices.IndexFunc(matches, func(m FoundSession) bool { return m.ID == s.ID })
		if i < 0 {
			if len(matches) == limit {
				continue
			}
			i, matches = len(matches), append(matches, FoundSession{Session: s})
		}
		for _, h := range f.Hits {
			for _, text := range h.Snippets {
				matches[i].Hits = append(matches[i].Hits, FoundText{h.Kind, h.Role, text})
			}
		}
	}
	return matches
}

// Search searches the stored sessions of the session's project, or of all projects. It tells the user that it works.
func (s *Session) Search(ctx context.Context, text string, everywhere bool) (found []FoundSession, err error) {
	q := SearchQuery{Text: text, CWD: s.cwd}
	if everywhere {
		q.CWD = ""
	}
	s.notify("Searching the stored conversations, which takes some seconds.")
	s.unlocked(ctx, func(ctx context.Context) {
		var failed *jsonrpc.Error
		if found, failed = s.deps.Search(ctx, q); failed != nil {
			err = Plain(failed)
		}
	})
	return found, err
}

// Directory returns the directory of the session.
func (s *Session) Directory() string { return s.cwd }
