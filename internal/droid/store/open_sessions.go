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

// openName is the directory, in the parent of the store, with a file for each session that a process holds. A lock on the file, which is
// released when the process ends, shows whether one still does.
const openName = "droid-acp-open"

// loadingEnd is the suffix of the file for a session that a process is about to open. No ID ends with it.
const loadingEnd = "~"

// swept is how many files one MarkOpen checks for processes that died.
const swept = 100

// MarkOpen marks this session as open in a droid for all processes, so that none deletes it. Several may hold it. It is held until release
// is called, or the process ends. The mark has the time of the latest MarkOpen, see Marked. If files cannot be locked (NFS without its lock
// service), or droid stores no sessions, other processes do not see the mark; the former is logged once.
func (s *Store) MarkOpen(id string) (release func(), err error) {
	release, path, err := s.mark(id, "")
	if path != "" {
		now := time.Now()
		if err := os.Chtimes(path, now, now); err != nil {
			s.log.Info("cannot mark a session as open for other processes", zap.String("session", id), zap.Error(err))
		}
	}
	return release, err
}

// MarkLoading is MarkOpen for a session that a droid is about to load: it cannot be deleted, but IsOpen and Marked do not report it. So its
// caller can check which other processes have the session open.
func (s *Store) MarkLoading(id string) (release func(), err error) {
	release, _, err = s.mark(id, loadingEnd)
	return release, err
}

// mark creates the file of a session with the suffix end. path is "" if other processes do not see it.
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

// Marked returns when a process last marked this session as open, the zero time if unknown. A time other than that of the caller's own mark
// means that another process has it open, too.
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

// noLocks logs that nothing can be locked in a directory.
func (s *Store) noLocks(dir string, err error) {
	s.unlocked.Do(func() {
		s.log.Warn("cannot lock files in droid's directory: several droid-acp do not see which sessions the others have open",
			zap.String("directory", dir), zap.Error(err))
	})
}

// ErrOpenElsewhere means that a process holds a session, or is about to.
var ErrOpenElsewhere = errors.New("it is open in another window or program of yours; close it there first")

// Free returns ErrOpenElsewhere if any process, including this one, holds the session or is about to. Any other error means that this
// cannot be determined, and says what to do.
func (s *Store) Free(id string) error {
	for _, end := range []string{loadingEnd, ""} { // in the order in which they are created
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

// IsOpen reports whether any process, including this one, holds the session. An error means that this cannot be determined, and says what
// to do.
func (s *Store) IsOpen(id string) (bool, error) { return s.marked(id, "") }

// marked reports whether a process holds the file of a session with the suffix end. It removes a file that a dead process left.
func (s *Store) marked(id, end string) (held bool, err error) {
	path, err := s.markPath(id, end)
	if err != nil {
		return false, nil // no process can hold it
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

// Lock tracks the mark of the one session that its owner has open at a time. The mark itself is made elsewhere (Store.MarkOpen), since the
// disk may be slow. It is not safe for concurrent use; the zero value has no session.
type Lock struct {
	id      string    // "" if none
	release func()    // nil until it is held
	marked  time.Time // the latest time known at which the session was marked as open
	looked  bool      // others is known
	others  bool      // other processes had the session open
	failed  bool      // it could not be locked
}

// Is reports whether this session is locked, or is to be.
func (l *Lock) Is(id string) bool { return l.id == id && !l.failed }

// Holds reports whether this session is locked.
func (l *Lock) Holds(id string) bool { return l.id == id && l.release != nil }

// Begin records that this session is to be locked from now on, "" for none. It returns the release function of the previous one, nil if
// none.
func (l *Lock) Begin(id string) (before func()) {
	before = l.release
	*l = Lock{id: id, others: l.others && l.id == id}
	return before
}

// MarkFailed records that this session could not be locked, so that it is tried again.
func (l *Lock) MarkFailed(id string) { l.failed = l.failed || l.id == id && l.release == nil }

// SetOthers records whether another process had the session open.
func (l *Lock) SetOthers(id string, others bool) {
	if l.id == id {
		l.looked, l.others = true, l.others || others
	}
}

// Others reports whether another process had the session open when that was last checked; known is false while it is being checked.
func (l *Lock) Others() (others, known bool) { return l.others, l.looked || l.id == "" }

// SetHeld records that the session is locked until release is called, and the time of its mark (Store.Marked). It returns release if the
// session is no longer to be locked.
func (l *Lock) SetHeld(id string, release func(), marked time.Time) (needless func()) {
	if l.id != id || l.release != nil {
		return release
	}
	l.release, l.marked = release, marked
	return nil
}

// Joined records the latest mark of the session, and reports whether another process has marked it since the last call.
func (l *Lock) Joined(id string, marked time.Time) bool {
	if l.id != id || l.release == nil || marked.IsZero() || marked.Equal(l.marked) {
		return false
	}
	l.marked, l.others = marked, true
	return true
}
