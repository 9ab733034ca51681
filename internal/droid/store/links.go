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

// LinksName is the name of the file, beside the directory of droid's sessions, that says
// where threads go on (docs/features.md, "Conversations").
const LinksName = "droid-acp-threads.jsonl"

const (
	linksRead  = 1 << 20   // bytes of the file's end that are read
	linksGrown = 64 << 10  // from this size on, each new link has the file written anew
	linksKept  = 512 << 10 // bytes that then stay at most
)

// canReplace says whether a file that others may have open can be replaced. Where it cannot,
// lines are only added.
const canReplace = runtime.GOOS != "windows"

// linksWait bounds how long Link waits for other processes that write.
const linksWait = 2 * time.Second

var errLinksBusy = errors.New("another program has kept it locked for 2 seconds")

func (s *Store) linksPath() string { return filepath.Join(filepath.Dir(s.root), LinksName) }

// links are readLinks, none where they cannot be read: for what does no harm without them.
func (s *Store) links() *linkSet {
	set, err := s.readLinks()
	if err != nil {
		s.log.Warn("threads that went on in other sessions are not known", zap.Error(err))
		return newLinkSet()
	}
	return set
}

// readLinks are the links that the file has. What does not exist, or is no file, has none.
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

// errUnknownThread is why nobody can tell in which session a thread goes on; err names a file.
func errUnknownThread(err error) error {
	return fmt.Errorf("it cannot be read in which session this conversation goes on: %w; see that you may read that, and that the disk works", err)
}

// tail returns the last lines of a file, at most max bytes of it. A file that does
// not exist is empty.
func tail(path string, max int64) ([]byte, error) {
	data, cut, err := files.ReadTail(path, max)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if cut {
		_, data, _ = bytes.Cut(data, []byte("\n")) // the first line may be in part
	}
	return data, err
}

// FollowUp is what Link noted of that option for the thread with these ids, the oldest first,
// "" for nothing.
func (s *Store) FollowUp(ids []string) string { return s.links().FollowUp(ids) }

// Link notes that a thread goes on in another session, for all processes. The line is
// on the disk when it returns nil. Any number of processes may do so at once.
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
	path := files.RealPath(s.linksPath()) // so that writing it anew does not replace a symbolic link
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
	if errors.As(err, new(*files.NoLocksError)) { // a line goes to the end in one piece, also without
		s.noLocks(filepath.Dir(path), err)
		err = nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was synced; this ends the lock
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
			line = append([]byte("\n"), line...) // a line before was written in part
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
			s.log.Warn("the file of threads could not be shortened", zap.Error(err))
		}
	}
	return nil
}

// shortenLinks writes the file anew, without the links that later ones replaced and
// those that lead to no session any more. The caller has locked it.
func (s *Store) shortenLinks(path string) error {
	var skipped skips
	all, _, err := s.candidates(context.Background(), &skipped)
	if err != nil || skipped.unreadable > 0 || len(all) == 0 {
		return err // what cannot be seen may be there
	}
	there := map[string]bool{}
	for _, c := range all {
		there[c.id] = true
	}
	data, err := tail(s.linksPath(), linksRead)
	if err != nil {
		return err // what cannot be read would be lost
	}
	kept := parseLinks(data).Keep(func(id string) bool { return there[id] }, linksKept)
	return files.Write(path, kept, 0o600)
}
