package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What could not be written is no success: a script would take an empty file for a report.
func TestOutputOnAFullDisk(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, args := range [][]string{{"--version"}, {"--help"}, {"help", "doctor"}, {"man"}, {"doctor"}, {"doctor", "--json"}, {"smoke", "--demo"}, {"smoke", "--demo", "--json"}} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		var stderr bytes.Buffer
		require.Equal(t, exitFailed, run(args, bytes.NewReader(nil), struct{ io.Writer }{full}, &stderr), args)
		require.Contains(t, stderr.String(), "no space left on device", args)
		require.NoError(t, full.Close())
	}
}

func TestTwoResultsInOneFile(t *testing.T) {
	dir := t.TempDir()
	for _, other := range []string{filepath.Join(dir, "r"), dir + "/./r", dir + "/../" + filepath.Base(dir) + "/r"} {
		got := command("", "smoke", "--demo", "--junit", filepath.Join(dir, "r"), "--result", other)
		require.Equal(t, exitUsage, got.code)
		require.Contains(t, got.stderr, "--junit and --result name the same file")
		got = command("", "smoke", "--demo", "--log-file", filepath.Join(dir, "r"), "--result", other)
		require.Equal(t, exitUsage, got.code)
		require.Contains(t, got.stderr, "--result and --log-file name the same file")
	}
}
