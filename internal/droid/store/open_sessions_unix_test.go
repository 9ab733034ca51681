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

// Where nothing can be locked, sessions are used without, and one log line says so. What may be open
// elsewhere is not deleted.
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
		require.False(t, s.IsOpen("mine"))
		release()
	}
	s.goesOn("a", "b", 1)
	s.goesOn("b", "mine", 2)
	require.Equal(t, []string{"a", "b", "mine"}, s.Thread("a"))
	require.Len(t, logs.All(), 1)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600))
	require.False(t, s.IsOpen("mine"))
	require.ErrorContains(t, s.Delete("mine"), "cannot be told")
	require.FileExists(t, path)
	require.NoError(t, os.Remove(filepath.Join(dir, "mine")))
	require.NoError(t, s.Delete("mine"))
	require.NoFileExists(t, path)
}

// The file of links is not written anew from what could not be read.
func TestLinksThatCannotBeRead(t *testing.T) {
	s := newStore(t)
	s.session("b", abs("/w"), 1)
	require.NoError(t, os.Symlink(LinksName, s.linksPath())) // to itself: nobody can read it
	require.Error(t, s.shortenLinks(s.linksPath()))
	to, err := os.Readlink(s.linksPath())
	require.NoError(t, err)
	require.Equal(t, LinksName, to)
}

// What cannot be looked at is not called missing without saying why.
func TestStoreThatCannotBeSearched(t *testing.T) {
	s := newStore(t)
	dir := filepath.Join(s.root, project("/w"))
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.Symlink("a"+transcript, filepath.Join(dir, "a"+transcript)))
	_, err := s.Find("a")
	require.ErrorContains(t, err, "too many levels")
}
