//go:build unix

package store

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// If nothing can be locked, sessions are used without locks, and one log line says so. A session that may be open elsewhere is not deleted.
func TestStoreWithoutLocks(t *testing.T) {
	s := newStore(t)
	core, logs := observer.New(zapcore.WarnLevel)
	s.log = zap.New(core)
	s.locks.Fault = func() error { return syscall.ENOLCK }
	dir := filepath.Join(filepath.Dir(s.root), openName)
	path := s.session("mine", abs("/w"), 1)
	for range 2 {
		release, err := s.MarkOpen("mine")
		require.NoError(t, err)
		require.Empty(t, filesIn(t, dir), "what cannot be locked is no hold")
		require.False(t, isOpen(t, s.Store, "mine"))
		release()
	}
	s.goesOn("a", "b", 1)
	s.goesOn("b", "mine", 2)
	require.Equal(t, []string{"a", "b", "mine"}, s.Thread("a"))
	require.Len(t, logs.All(), 1)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600))
	held, err := s.IsOpen("mine")
	require.ErrorContains(t, err, "cannot be told")
	require.ErrorContains(t, err, dir)
	require.False(t, held)
	require.ErrorContains(t, s.Delete("mine"), "cannot be told")
	require.FileExists(t, path)
	require.NoError(t, os.Remove(filepath.Join(dir, "mine")))
	require.NoError(t, s.Delete("mine"))
	require.NoFileExists(t, path)
}

// The file of links is not rewritten from content that could not be read.
func TestUnreadableLinks(t *testing.T) {
	s := newStore(t)
	s.session("b", abs("/w"), 1)
	require.NoError(t, os.Symlink(LinksName, s.linksPath())) // to itself: it cannot be read
	require.Error(t, s.shortenLinks(s.linksPath()))
	to, err := os.Readlink(s.linksPath())
	require.NoError(t, err)
	require.Equal(t, LinksName, to)
}

// If the links cannot be read, the thread is unknown: the error names the file and says what to do. A list has each session separately.
func TestThreadWithUnreadableLinks(t *testing.T) {
	s := newStore(t)
	s.session("a", abs("/w"), 1)
	s.session("b", abs("/w"), 2)
	s.goesOn("a", "b", 1)
	require.NoError(t, os.Rename(s.linksPath(), s.linksPath()+".kept"))
	require.NoError(t, os.Symlink(LinksName, s.linksPath())) // to itself: it cannot be read
	ids, err := s.Store.Thread("a")
	require.Nil(t, ids)
	require.ErrorContains(t, err, s.linksPath())
	require.ErrorContains(t, err, "too many levels")
	require.ErrorContains(t, err, "see that you may read")
	_, err = threadsOf(t, s.Store).IDs(t.Context(), "a")
	require.ErrorContains(t, err, s.linksPath())
	require.Len(t, s.list("", 0), 2)
	require.NoError(t, os.Rename(s.linksPath()+".kept", s.linksPath()))
	require.Equal(t, []string{"a", "b"}, s.Thread("a"))

	require.NoError(t, os.Rename(s.root, s.root+".away"))
	require.NoError(t, os.Symlink(filepath.Base(s.root), s.root))
	_, err = s.Store.Thread("a")
	require.ErrorContains(t, err, "reading droid's sessions", "droid's own UI may have compacted it")
}

// A thread whose newest session cannot be looked at is unknown: the one before it would be an outdated conversation.
func TestThreadWithUnreadableSession(t *testing.T) {
	s := newStore(t)
	path := s.session("a", abs("/w"), 1)
	s.goesOn("a", "b", 1)
	s.goesOn("b", "c", 2)
	require.Equal(t, []string{"a"}, s.Thread("a"), "the others are not there")
	loop := filepath.Join(filepath.Dir(path), "c"+transcript)
	require.NoError(t, os.Symlink(filepath.Base(loop), loop)) // to itself: it cannot be read
	ids, err := s.Store.Thread("a")
	require.Nil(t, ids)
	require.ErrorContains(t, err, "too many levels")
	require.ErrorContains(t, err, "see that you may read")
	require.NoError(t, os.Remove(loop))
	s.session("c", abs("/w"), 2)
	require.Equal(t, []string{"a", "b", "c"}, s.Thread("a"))
}

// A mark that cannot be checked is not reported as absent.
func TestUncheckableMark(t *testing.T) {
	s := newStore(t)
	path := s.session("mine", abs("/w"), 1)
	mark := filepath.Join(filepath.Dir(s.root), openName, "mine")
	require.NoError(t, os.Mkdir(filepath.Dir(mark), 0o700))
	require.NoError(t, os.Symlink("mine", mark))
	_, err := s.IsOpen("mine")
	require.ErrorContains(t, err, "cannot be told")
	require.ErrorContains(t, s.Delete("mine"), "cannot be told")
	require.FileExists(t, path)
}

// A path that cannot be checked is not reported as missing without a reason.
func TestUnsearchableStore(t *testing.T) {
	s := newStore(t)
	dir := filepath.Join(s.root, project("/w"))
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.Symlink("a"+transcript, filepath.Join(dir, "a"+transcript)))
	_, err := s.Find("a")
	require.ErrorContains(t, err, "too many levels")
}
