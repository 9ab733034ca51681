// Package store reads the sessions that droid keeps on disk. Its main type is Store; the adapter lists, finds and deletes sessions with it,
// and follows threads from session to session. It handles files only, and knows neither droid's process nor ACP.
//
// The files (0.99.0 and 0.225.2, found by running both):
//
//	<home>/.factory/sessions/<project>/<id>.jsonl          the conversation
//	<home>/.factory/sessions/<project>/<id>.settings.json  its settings, 0.225 with a .bak
//	<home>/.factory/sessions/<id>/attachments/             attached files
//
// <project> is the working directory with each separator replaced by "-"; 0.225 resolves symbolic links first, 0.99 does not. Different
// directories can have the same name, so the directory of a session is read from its first line. Both versions also load files in sessions/
// itself or under another project's name, but none in deeper directories.
//
// The first line is {"type":"session_start",…}; droid updates the title in it in place, and then restores the modification time. That time
// is the updatedAt of 0.225. Loading a session does not change it.
package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
)

// EnvHome names the directory that replaces the home directory for droid (0.99 to 0.225); empty counts as unset.
const EnvHome = "FACTORY_HOME_OVERRIDE"

// Store is droid's session store. It has no state: every call reads the disk, so that changes of other processes are visible at once. All
// methods may be called from any goroutine.
type Store struct {
	root  string
	err   error // why root is unknown, or nil
	log   *zap.Logger
	locks files.Locks

	rename func(from, to string) error // os.Rename; tests interrupt a deletion with it

	unlocked sync.Once // see noLocks
}

// New returns the store in the directory root, see Root, which need not exist. log may be nil.
func New(root string, log *zap.Logger) *Store {
	log = cmp.Or(log, zap.NewNop())
	return &Store{root: root, log: log, rename: os.Rename}
}

// Unknown returns a store with an unknown path: each of its methods returns err.
func Unknown(err error) *Store { return &Store{err: err} }

// errNone is the error of a store without a directory.
var errNone = errors.New("there is no store of sessions")

// None returns a store without a directory, for an agent whose sessions no other process opens: it has no sessions, and records nothing.
func None() *Store { return &Store{err: errNone} }

// Root returns the sessions directory of droids with an environment: .factory/sessions in $FACTORY_HOME_OVERRIDE or the user's home.
func Root(getenv func(string) string) (string, error) {
	name, home := EnvHome, getenv(EnvHome)
	if home == "" {
		var err error
		name = "HOME"
		if home = getenv(homeVariable()); home == "" {
			home, err = os.UserHomeDir()
		}
		if err != nil {
			return "", fmt.Errorf("finding droid's sessions: %w; set HOME to your home directory and start the agent again", err)
		}
	}
	if !filepath.IsAbs(home) {
		// droid takes it relative to its own working directory, which differs between sessions: there is no single store to read.
		return "", fmt.Errorf("finding droid's sessions: %s=%q is not an absolute path; set it to one and start the agent again", name, home)
	}
	return filepath.Join(home, ".factory", "sessions"), nil
}

// homeVariable returns the variable with the user's home directory, as in os.UserHomeDir.
func homeVariable() string {
	if runtime.GOOS == "windows" {
		return "USERPROFILE"
	}
	return "HOME"
}

// Session is one session of the store.
type Session struct {
	ID string // the file's name, by which droid loads it

	// CWD is the absolute directory in which droid continues the session, as droid wrote it, but cleaned. It may no longer exist. It is
	// empty if the file does not contain it; droid then uses its own.
	CWD string

	// Title is the name that droid or the user gave the session, otherwise the first line of the user's first text, without injected text
	// and at most 80 characters long. It is empty if there is neither.
	Title string

	UpdatedAt time.Time // when something was last added; renaming does not change it

	// Of a listed session:
	Archived bool
	Thread   []string // the IDs of its thread, the oldest first
}

// NotFoundError means that the store has no loadable session with this ID.
type NotFoundError struct {
	ID  string
	Err error // why the file of that name is not a session; nil if there is no file
}

// Error names the ID.
func (e *NotFoundError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("session %q not found: %v", e.ID, e.Err)
	}
	return fmt.Sprintf("session %q not found", e.ID)
}

// Unwrap returns the reason, if there is one.
func (e *NotFoundError) Unwrap() error { return e.Err }

// Find returns the session with this ID, listed or not: including subagents and sessions without a message. The error is a *NotFoundError,
// or that of reading the store.
func (s *Store) Find(id string) (Session, error) {
	return fromCopies(s, id, func(c candidate) (Session, error) {
		head, err := new(reader).read(c.path(), nil)
		return head.session(id, c.updated), err
	})
}

// File returns the path of a session's file, of several that of the one used last. The error is as in Find.
func (s *Store) File(id string) (string, error) {
	return fromCopies(s, id, func(c candidate) (string, error) { return c.path(), nil })
}

// fromCopies returns the result of read for a session's file; of several for the one used last that can be read. The error comes from
// reading the store, or is a *NotFoundError.
func fromCopies[T any](s *Store, id string, read func(c candidate) (T, error)) (none T, err error) {
	found, cause, err := s.copies(id)
	if err != nil {
		return none, err
	}
	for _, c := range found {
		value, err := read(c)
		if err == nil {
			return value, nil
		}
		cause = err
	}
	return none, &NotFoundError{ID: id, Err: cause}
}

// copies returns the files of a session, which may be in several projects, the one used last first. unsure says why there may be more than
// these, or is nil.
func (s *Store) copies(id string) (found []candidate, unsure, err error) {
	if !stream.ValidSessionID(id) {
		return nil, errNoID, nil
	}
	dirs, _, err := s.directories()
	for _, d := range dirs {
		info, err := os.Stat(d.file(id + transcript))
		switch {
		case err == nil && info.Mode().IsRegular():
			found = append(found, candidate{d, id, info.ModTime()})
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			unsure = err
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return b.updated.Compare(a.updated) })
	return found, unsure, err
}

var errNoID = errors.New("not an id of a session")
