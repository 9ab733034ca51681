package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/sys/files"
)

// LinksName is the name of the file, in the parent of droid's sessions directory, that records in which sessions threads continue
// (docs/features.md, "Conversations").
const LinksName = "droid-acp-threads.jsonl"

const (
	linksRead  = 1 << 20   // bytes at the end of the file that are read
	linksGrown = 64 << 10  // size from which on a new link causes the file to be rewritten
	linksKept  = 512 << 10 // maximum size after that
)

// canReplace reports whether a file that other processes may have open can be replaced. If not, lines are only appended.
const canReplace = runtime.GOOS != "windows"

// linksWait is how long Link waits for other processes that write.
const linksWait = 2 * time.Second

var errLinksBusy = errors.New("another program has kept it locked for 2 seconds")

func (s *Store) linksPath() string { return filepath.Join(filepath.Dir(s.root), LinksName) }

// links returns readLinks, and an empty set on an error: for callers to which links are optional.
func (s *Store) links() *linkSet {
	set, err := s.readLinks()
	if err != nil {
		s.log.Warn("cannot read in which sessions threads continue", zap.Error(err))
		return newLinkSet()
	}
	return set
}

// readLinks reads the links in the file. A missing file, or one that is not a regular file, has none.
func (s *Store) readLinks() (*linkSet, error) {
	if s.err != nil {
		return newLinkSet(), nil
	}
	data, err := tail(s.linksPath(), linksRead)
	if err != nil && !errors.Is(err, files.ErrNotRegular) {
		return nil, errUnknownThread(err)
	}
	return parseLinks(data), nil
}

// errUnknownThread says why the current session of a thread cannot be determined; err names a file.
func errUnknownThread(err error) error {
	return fmt.Errorf("it cannot be read in which session this conversation goes on: %w; see that you may read that, and that the disk works", err)
}

// tail returns the last lines of a file, at most max bytes. A missing file is empty.
func tail(path string, max int64) ([]byte, error) {
	data, cut, err := files.ReadTail(path, max)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if cut {
		_, data, _ = bytes.Cut(data, []byte("\n")) // the first line may be incomplete
	}
	return data, err
}

// FollowUp returns the value of that option for the thread with these IDs, the oldest first, as recorded by Link; "" if none.
func (s *Store) FollowUp(ids []string) string { return s.links().FollowUp(ids) }

// Link records that a thread continues in another session, for all processes. The line is on the disk when it returns nil. Any number of
// processes may call it at the same time.
func (s *Store) Link(l Link) error {
	if s.err == errNone {
		return nil
	}
	if s.err != nil {
		return s.err
	}
	line, err := l.Line()
	if err == nil {
		err = s.addLink(line)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", s.linksPath(), err)
	}
	return nil
}

func (s *Store) addLink(line []byte) error {
	path := files.RealPath(s.linksPath()) // so that a rewrite does not replace a symbolic link
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return errors.New("it is not a file")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := s.locks.Append(path, linksWait)
	alone := err == nil
	if errors.Is(err, files.ErrHeld) {
		err = errLinksBusy
	}
	if errors.As(err, new(*files.NoLocksError)) { // a line is appended in one write, also without a lock
		s.noLocks(filepath.Dir(path), err)
		err = nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was synced; this releases the lock
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if end > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, end-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte("\n"), line...) // the previous line was written partially
		}
	}
	if _, err := f.Write(line); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if end > linksGrown && canReplace && alone {
		if err := s.shortenLinks(path); err != nil {
			s.log.Warn("cannot shorten the file of threads", zap.Error(err))
		}
	}
	return nil
}

// shortenLinks rewrites the file without links that were replaced by later ones, and without those that lead to no existing session. One
// in the trash exists. The caller has locked it.
func (s *Store) shortenLinks(path string) error {
	var skipped skips
	all, _, err := s.candidates(context.Background(), &skipped)
	if err != nil || skipped.unreadable > 0 || len(all) == 0 {
		return err // a session that cannot be seen may exist
	}
	there := map[string]bool{}
	for _, c := range all {
		there[c.id] = true
	}
	trashed, err := s.trashed()
	if err != nil {
		return err
	}
	for _, id := range trashed {
		there[id] = true
	}
	data, err := tail(s.linksPath(), linksRead)
	if err != nil {
		return err // links that cannot be read would be lost
	}
	kept := parseLinks(data).Keep(func(id string) bool { return there[id] }, linksKept)
	return files.Write(path, kept, 0o600)
}
