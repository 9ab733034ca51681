//go:build unix

package workflows

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// newest runs a step of the weekly look at new droids in a copy of what it needs, with
// programs that the test plays.
func newest(t *testing.T, programs map[string]string, args ...string) (out, dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"scripts/ci/newest-droid.sh", "e2e/prepare_test.go"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text(t, name)), 0o755))
	}
	for name, script := range programs {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755))
	}
	cmd := exec.Command("bash", append([]string{"scripts/ci/newest-droid.sh"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "GITHUB_OUTPUT=" + filepath.Join(dir, "output"), "TMPDIR=" + dir,
		"GITHUB_RUN_ID=7", "GITHUB_SERVER_URL=https://forge.example.invalid", "GITHUB_REPOSITORY=a/b"}
	said, err := cmd.CombinedOutput()
	return string(said), dir, err
}

func TestFindNewestDroid(t *testing.T) {
	out, dir, err := newest(t, map[string]string{"npm": `[ "$1 $3" = "view version" ] && echo 0.999.1`}, "find")
	require.NoError(t, err, out)
	output, err := os.ReadFile(filepath.Join(dir, "output"))
	require.NoError(t, err)
	require.Equal(t, "version=0.999.1\nknown=false\n", string(output))
	out, _, err = newest(t, map[string]string{"npm": `sed -n 's/.*latestDroid = "\(.*\)"/\1/p' e2e/prepare_test.go`}, "find")
	require.NoError(t, err, out)
	require.Contains(t, out, "known=true\n", "CI tests it on every change")
	_, _, err = newest(t, map[string]string{"npm": `echo`}, "find")
	require.Error(t, err, "npm named none")
	_, _, err = newest(t, map[string]string{"npm": `exit 1`}, "find")
	require.Error(t, err)
}

func TestTestNewestDroid(t *testing.T) {
	out, dir, err := newest(t, map[string]string{"make": `echo "make $* with $DROID_ACP_E2E_DROIDS"; exit 3`}, "test", "0.999.1")
	require.Error(t, err, "the failure of the tests is that of the step")
	log, readErr := os.ReadFile(filepath.Join(dir, "newest-droid.log"))
	require.NoError(t, readErr)
	require.Equal(t, "make e2e with 0.99.0 0.999.1\n", string(log))
	require.Contains(t, out, string(log))
	_, _, err = newest(t, map[string]string{"make": `true`}, "test", "0.999.1")
	require.NoError(t, err)
}

// played is gh with one open issue; it shows what is created.
const played = `case "$1 $2" in
"issue list") echo "droid 0.999.0 does not pass the end-to-end tests" ;;
"issue create") echo "created: $4"; cat "$6" ;;
*) exit 9 ;;
esac
`

func TestReportNewestDroid(t *testing.T) {
	log := "--- FAIL: TestX (1s)\n```\n@everybody " + strings.Repeat("x", 1000) + "\n"
	files := map[string]string{"gh": played, "newest-droid.log": log}
	out, _, err := newest(t, files, "report", "0.999.1")
	require.NoError(t, err, out)
	require.Contains(t, out, "created: droid 0.999.1 does not pass the end-to-end tests\n")
	require.Contains(t, out, `DROID_ACP_E2E_DROIDS="0.99.0 0.999.1" make e2e`)
	require.Contains(t, out, "https://forge.example.invalid/a/b/actions/runs/7\n")
	require.Contains(t, out, "Tests that fail:\n\n    --- FAIL: TestX (1s)\n")
	for line := range strings.Lines(out[strings.Index(out, "The end of the log:"):]) {
		require.True(t, strings.HasPrefix(line, "    ") || strings.TrimSpace(line) == "" || strings.HasPrefix(line, "The end"), "%q would not be shown as it is", line)
		require.Less(t, len(line), 400)
	}
	out, _, err = newest(t, files, "report", "0.999.0")
	require.NoError(t, err, out)
	require.NotContains(t, out, "created", "there is an issue already")
}
