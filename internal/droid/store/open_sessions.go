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

// swept is how many files one MarkOpen checks for processes that died.
const swept = 100

// MarkOpen notes for all processes that a droid has this session open, so that none
// deletes it. Several may hold it. It is held until release is called, or until
// the process ends. The time of the note is that of who noted it last, see Marked. Where files
// cannot be locked (NFS without its lock service), nobody sees it, and the log says so once.
// Nobody sees it either where droid keeps no sessions.
func (s *Store) MarkOpen(id string) (release func(), err error) {
	if s.err == errNone {
		return func() {}, nil
	}
	path, err := s.markPath(id)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		s.locks.Sweep(filepath.Dir(path), swept)
		release, err = s.locks.Share(path)
	}
	if errors.As(err, new(*files.NoLocksError)) {
		s.noLocks(filepath.Dir(path), err)
		return func() {}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("holding session %q: %w", id, err)
	}
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil {
		s.log.Info("others who have the session open are not told of this one", zap.String("session", id), zap.Error(err))
	}
	return release, nil
}

// Marked is when a process noted last that it has this session open; the zero time where that is not
// known. Who finds another time than that of its own note is not alone.
func (s *Store) Marked(id string) (at time.Time) {
	path, err := s.markPath(id)
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

// IsOpen reports whether any process holds the session, this one included; the error says that it
// cannot be told, and what to do. It removes the file that a process left when it died.
func (s *Store) IsOpen(id string) (held bool, err error) {
	path, err := s.markPath(id)
	if err != nil {
		return false, nil // nobody can hold it
	}
	if held, err = s.locks.Shared(path); err != nil {
		return false, fmt.Errorf("it cannot be told whether another window or program of yours has it open (%w); if none has, remove its file in %s",
			err, filepath.Dir(path))
	}
	return held, nil
}

func (s *Store) markPath(id string) (string, error) {
	if s.err != nil {
		return "", s.err
	}
	if !stream.ValidSessionID(id) {
		return "", &NotFoundError{ID: id}
	}
	return filepath.Join(filepath.Dir(s.root), openName, id), nil
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
}

// Is reports whether this is the session that is locked, or is to be.
func (l *Lock) Is(id string) bool { return l.id == id }

// Begin notes that this session is to be locked from now on, "" for none. It returns what
// releases the one before, nil for none.
func (l *Lock) Begin(id string) (before func()) {
	before = l.release
	*l = Lock{id: id}
	return before
}

// Looked notes whether another process had the session open as it was looked for.
func (l *Lock) Looked(id string, others bool) {
	if l.id == id {
		l.looked, l.others = true, l.others || others
	}
}

// Others reports whether another process had the session open when that was seen last; known is false while it is being
// looked for.
func (l *Lock) Others() (others, known bool) { return l.others, l.looked || l.id == "" }

// Held notes that the session is locked until release is called, and when that was noted for others
// (Store.Marked). It returns release if the session is no longer to be locked.
func (l *Lock) Held(id string, release func(), marked time.Time) (needless func()) {
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
