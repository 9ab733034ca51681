package droid

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/sys/subprocess"
)

// Commands that bash runs have the user's own environment, and their BASH_ENV is read as bash does it.
func TestCommandsHaveTheUsersEnvironment(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere nothing is changed")
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	dir := t.TempDir()
	own := filepath.Join(dir, "it's own")
	require.NoError(t, os.WriteFile(own, []byte("export FROM_OWN=1\n"), 0o600))
	for name, tc := range map[string]struct{ env, want []string }{
		"none":       {nil, nil},
		"own values": {[]string{"CHOKIDAR_USEPOLLING=a b'c", "CHOKIDAR_INTERVAL="}, []string{"CHOKIDAR_INTERVAL=", "CHOKIDAR_USEPOLLING=a b'c"}},
		"own file":   {[]string{"BASH_ENV=" + own}, []string{"BASH_ENV=" + own, "FROM_OWN=1"}},
		"expanded":   {[]string{"D=" + dir, "BASH_ENV=$D/it's own"}, []string{"BASH_ENV=$D/it's own", "FROM_OWN=1"}},
		"not there":  {[]string{"BASH_ENV=/none"}, []string{"BASH_ENV=/none"}},
	} {
		c := subprocess.Command{Env: append([]string{"PATH=" + os.Getenv("PATH")}, tc.env...)}
		restore, servers, err := withoutWatching(&c)
		require.NoError(t, err)
		defer restore.Close()
		env := func(program string, args ...string) (found []string) {
			cmd := exec.Command(program, args...)
			cmd.Env = c.Env
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			for line := range strings.Lines(string(out)) {
				if line = strings.TrimSpace(line); strings.HasPrefix(line, "CHOKIDAR_") || strings.HasPrefix(line, "BASH_ENV=") || strings.HasPrefix(line, "FROM_OWN") {
					found = append(found, line)
				}
			}
			return found
		}
		require.ElementsMatch(t, append([]string{"BASH_ENV=" + restore.Path}, watchEnv...), env("env"), "%s: droid itself", name)
		require.ElementsMatch(t, tc.want, env(bash, "-c", "env"), name)
		value, _ := lookup(tc.env, "CHOKIDAR_USEPOLLING")
		require.Equal(t, value, servers["CHOKIDAR_USEPOLLING"], name)
	}
}
