package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
)

// openName is the directory beside the store that has a file for each session that
// a process holds. A lock on the file, which ends with the process, tells whether
// one still does.
const openName = "droid-acp-open"

// loadingEnd ends the name of the file for a session that a process is about to open. No id has it.
const loadingEnd = "~"

// swept is how many files one MarkOpen checks for processes that died.
const swept = 100

// MarkOpen notes for all processes that a droid has this session open, so that none
// deletes it. Several may hold it. It is held until release is called, or until
// the process ends. The time of the note is that of who noted it last, see Marked. Where files
// cannot be locked (NFS without its lock service), nobody sees it, and the log says so once.
// Nobody sees it either where droid keeps no sessions.
func (s *Store) MarkOpen(id string) (release func(), err error) {
	release, path, err := s.mark(id, "")
	if path != "" {
		now := time.Now()
		if err := os.Chtimes(path, now, now); err != nil {
			s.log.Info("others who have the session open are not told of this one", zap.String("session", id), zap.Error(err))
		}
	}
	return release, err
}

// MarkLoading is MarkOpen for a session that a droid is about to load: nobody deletes it, and nobody is told of it
// (IsOpen, Marked). So who has noted that can look who else has the session open.
func (s *Store) MarkLoading(id string) (release func(), err error) {
	release, _, err = s.mark(id, loadingEnd)
	return release, err
}

// mark makes the file of a session whose name ends so. There is no path where others do not see it.
func (s *Store) mark(id, end string) (release func(), path string, err error) {
	if s.err == errNone {
		return func() {}, "", nil
	}
	path, err = s.markPath(id, end)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		s.locks.Sweep(filepath.Dir(path), swept)
		release, err = s.locks.Share(path)
	}
	if errors.As(err, new(*files.NoLocksError)) {
		s.noLocks(filepath.Dir(path), err)
		return func() {}, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("holding session %q: %w", id, err)
	}
	return release, path, nil
}

// Marked is when a process noted last that it has this session open; the zero time where that is not
// known. Who finds another time than that of its own note is not alone.
func (s *Store) Marked(id string) (at time.Time) {
	path, err := s.markPath(id, "")
	if err != nil {
		return at
	}
	if info, err := os.Stat(path); err == nil {
		at = info.ModTime()
	}
	return at
}

// noLocks is for a directory in which nothing can be locked.
func (s *Store) noLocks(dir string, err error) {
	s.unlocked.Do(func() {
		s.log.Warn("nothing can be locked beside droid's sessions: several droid-acp do not see which sessions the others have open",
			zap.String("directory", dir), zap.Error(err))
	})
}

// ErrOpenElsewhere says that a process holds a session, or is about to.
var ErrOpenElsewhere = errors.New("it is open in another window or program of yours; close it there first")

// Free is an error when a process, this one included, holds the session or is about to: ErrOpenElsewhere. Any
// other error says that it cannot be told, and what to do.
func (s *Store) Free(id string) error {
	for _, end := range []string{loadingEnd, ""} { // in the order in which who opens it makes them
		held, err := s.marked(id, end)
		if held {
			return ErrOpenElsewhere
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// IsOpen reports whether any process holds the session, this one included; the error says that it
// cannot be told, and what to do.
func (s *Store) IsOpen(id string) (bool, error) { return s.marked(id, "") }

// marked reports whether a process has the file of a session whose name ends so. It removes what a
// process left when it died.
func (s *Store) marked(id, end string) (held bool, err error) {
	path, err := s.markPath(id, end)
	if err != nil {
		return false, nil // nobody can hold it
	}
	if held, err = s.locks.InUse(path); err != nil {
		return false, fmt.Errorf("it cannot be told whether another window or program of yours has it open (%w); if none has, remove its file in %s",
			err, filepath.Dir(path))
	}
	return held, nil
}

func (s *Store) markPath(id, end string) (string, error) {
	if s.err != nil {
		return "", s.err
	}
	if !stream.ValidSessionID(id) {
		return "", &NotFoundError{ID: id}
	}
	return filepath.Join(filepath.Dir(s.root), openName, id+end), nil
}

// Lock is what somebody holds who has one session open after the other. It is taken
// elsewhere (Store.MarkOpen), since the disk may take its time. It is not safe for concurrent
// use; the zero value locks nothing.
type Lock struct {
	id      string    // "" for none
	release func()    // nil until it is held
	marked  time.Time // when somebody noted last that the session is open, as far as is known
	looked  bool      // it is known whether others had the session open
	others  bool      // they had
	failed  bool      // it could not be locked
}

// Is reports whether this is the session that is locked, or is to be.
func (l *Lock) Is(id string) bool { return l.id == id && !l.failed }

// Holds reports whether this is the session that is locked.
func (l *Lock) Holds(id string) bool { return l.id == id && l.release != nil }

// Begin notes that this session is to be locked from now on, "" for none. It returns what
// releases the one before, nil for none.
func (l *Lock) Begin(id string) (before func()) {
	before = l.release
	*l = Lock{id: id, others: l.others && l.id == id}
	return before
}

// MarkFailed notes that this session could not be locked: it is to be tried again.
func (l *Lock) MarkFailed(id string) { l.failed = l.failed || l.id == id && l.release == nil }

// SetOthers notes whether another process had the session open as it was looked for.
func (l *Lock) SetOthers(id string, others bool) {
	if l.id == id {
		l.looked, l.others = true, l.others || others
	}
}

// Others reports whether another process had the session open when that was seen last; known is false while it is being
// looked for.
func (l *Lock) Others() (others, known bool) { return l.others, l.looked || l.id == "" }

// SetHeld notes that the session is locked until release is called, and when that was noted for others
// (Store.Marked). It returns release if the session is no longer to be locked.
func (l *Lock) SetHeld(id string, release func(), marked time.Time) (needless func()) {
	if l.id != id || l.release != nil {
		return release
	}
	l.release, l.marked = release, marked
	return nil
}

// Joined takes when somebody last noted that the session is open, and reports whether another process
// has done so since it was asked before.
func (l *Lock) Joined(id string, marked time.Time) bool {
	if l.id != id || l.release == nil || marked.IsZero() || marked.Equal(l.marked) {
		return false
	}
	l.marked, l.others = marked, true
	return true
}
