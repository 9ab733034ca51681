// Package store reads the sessions that droid keeps on disk. It knows files
// only, neither droid's process nor ACP.
//
// What is on disk (0.99.0 and 0.225.2, found by running both):
//
//	<home>/.factory/sessions/<project>/<id>.jsonl          the conversation
//	<home>/.factory/sessions/<project>/<id>.settings.json  its settings, 0.225 with a .bak
//	<home>/.factory/sessions/<id>/attachments/             attached files
//
// <project> is the working directory with each separator replaced by "-";
// 0.225 resolves symbolic links first, 0.99 does not. Different directories can
// share a name, so the directory of a session is read from its first line. Both
// versions also load files that lie in sessions/ itself or under another
// project's name, and none that lies deeper.
//
// The first line is {"type":"session_start",…}; droid writes a new title into
// it in place, after which the modification time is as before. That time is
// what 0.225 reports as updatedAt. Loading a session does not change it.
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

// EnvHome names the directory that takes the place of the home directory for
// droid (0.99 to 0.225); empty counts as unset.
const EnvHome = "FACTORY_HOME_OVERRIDE"

// Store is droid's session store. It has no state: every call reads the disk,
// so that what other processes do shows at once. All methods may be called from
// any goroutine.
type Store struct {
	root  string
	err   error // why root is not known, or nil
	log   *zap.Logger
	locks files.Locks

	rename func(from, to string) error // os.Rename; tests end a deletion halfway

	unlocked sync.Once // see noLocks
}

// New returns the store in the directory root, see Root. The directory need not
// exist. Without a log nothing is logged.
func New(root string, log *zap.Logger) *Store {
	log = cmp.Or(log, zap.NewNop())
	return &Store{root: root, log: log, rename: os.Rename}
}

// Unknown returns a store whose place is not known: each use of it returns err.
func Unknown(err error) *Store { return &Store{err: err} }

// errNone is what a store without a place has.
var errNone = errors.New("there is no store of sessions")

// None returns a store without a place, for an agent whose sessions nobody else opens: it
// has no sessions, and what is to be noted in it is not.
func None() *Store { return &Store{err: errNone} }

// Root returns the sessions directory of droids with an environment: .factory/sessions in $FACTORY_HOME_OVERRIDE or
// the user's home.
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
		// droid takes it relative to its own working directory, which differs from
		// session to session: there is no one store to read.
		return "", fmt.Errorf("finding droid's sessions: %s=%q is not an absolute path; set it to one and start the agent again", name, home)
	}
	return filepath.Join(home, ".factory", "sessions"), nil
}

// homeVariable has the user's home directory, as os.UserHomeDir takes it.
func homeVariable() string {
	if runtime.GOOS == "windows" {
		return "USERPROFILE"
	}
	return "HOME"
}

// Session is one session of the store.
type Session struct {
	ID string // the file's name, which is what droid loads by

	// CWD is the absolute directory in which droid continues the session, as droid
	// wrote it but cleaned. It may not exist any more. It is empty when the file
	// does not tell; droid then takes its own.
	CWD string

	// Title is the name that droid or the user gave the session, else the first
	// line of what the user first said, without injected text and at most 80
	// characters long. Empty when there is neither.
	Title string

	UpdatedAt time.Time // when something was last added; not changed by renaming
}

// NotFoundError says that the store has no session of this id that could be
// loaded.
type NotFoundError struct {
	ID  string
	Err error // why the file of that name is no session; nil when there is no file
}

// Error names the id.
func (e *NotFoundError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("session %q not found: %v", e.ID, e.Err)
	}
	return fmt.Sprintf("session %q not found", e.ID)
}

// Unwrap returns the reason, if there is one.
func (e *NotFoundError) Unwrap() error { return e.Err }

// Find returns the session of this id, listed or not: subagents and sessions
// without a message are found too. The error is a *NotFoundError, or that of
// reading the store.
func (s *Store) Find(id string) (Session, error) {
	return fromCopies(s, id, func(c candidate) (Session, error) {
		head, err := new(reader).read(c.path(), nil)
		return head.session(id, c.updated), err
	})
}

// File is the path of a session's file, of several that of the one that was used last. The error is as in Find.
func (s *Store) File(id string) (string, error) {
	return fromCopies(s, id, func(c candidate) (string, error) { return c.path(), nil })
}

// fromCopies is what read finds in the file of a session; of several in the one that was used last and
// can be read. The error is that of reading the store, or a *NotFoundError.
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

// copies are the files of a session, which may lie in several projects, the one that was used
// last first. unsure is why there may be more than these, or nil.
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
