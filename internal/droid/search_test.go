package droid

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An answer of 0.225.2, reduced to the fields that are read, and invalid answers.
func TestReadFound(t *testing.T) {
	found, err := readFound([]byte(`a warning
{"query":"x","sessions":[{"sessionId":"a","jsonlPath":"/secret","hits":[{"docId":"d","kind":"message_text","messageRole":"user","snippets":["the <mark>zebra</mark> of <mark>x</mark>"]}],"totals":{}}]}`))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "a", found[0].ID)
	require.Equal(t, "user", found[0].Hits[0].Role)
	require.Equal(t, []string{"the zebra of x"}, found[0].Hits[0].Snippets)
	found, err = readFound([]byte(`{"sessions":[]}`))
	require.NoError(t, err)
	require.Empty(t, found)
	for _, text := range []string{"", "{", "nothing", `{"query":"x"}`} {
		_, err := readFound([]byte(text))
		require.Error(t, err, text)
	}
}

// The text is one argument and no flag. The program runs in a directory that has no project, and is killed when its time is over.
func TestSearch(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the droids are shell scripts")
	}
	t.Parallel()
	dir := t.TempDir()
	path, asked := filepath.Join(dir, "droid"), filepath.Join(dir, "asked")
	runs := func(script string) {
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755))
	}
	runs(`printf '%s\n' "$@" "$(ls -A)" "$` + envAutoUpdate + `" >` + asked + `; echo '{"sessions":[{"sessionId":"a"}]}'`)
	found, err := Search(t.Context(), path, nil, "--reindex now")
	require.NoError(t, err)
	require.Equal(t, "a", found[0].ID)
	got, err := os.ReadFile(asked)
	require.NoError(t, err)
	require.Equal(t, "search\n--json\n--limit-sessions\n1000\n--\n--reindex now\n.git\nfalse\n", string(got))

	runs("echo 'no index' >&2; exit 3")
	_, err = Search(t.Context(), path, nil, "x")
	exit, is := errors.AsType[*ExitError](err)
	require.True(t, is)
	require.Equal(t, 3, exit.Code)

	runs("exec sleep 60")
	late := errors.New("late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, late)
	defer cancel()
	began := time.Now()
	_, err = Search(ctx, path, nil, "x")
	require.ErrorIs(t, err, late)
	require.Less(t, time.Since(began), 30*time.Second)
}
