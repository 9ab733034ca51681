package droid

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/subprocess"
	"droid-acp/internal/text/paths"
)

// droid watches the directories of its settings, and applies new files at once, even during a turn (0.99 to 0.225). It watches with the
// library chokidar, which polls instead if the environment says so: with an interval of 25 days it reports nothing. On macOS and Windows
// droid 0.215 and newer watch without chokidar, so only the checks before each prompt protect there.

// watchEnv are the variables that keep chokidar from reporting anything.
var watchEnv = []string{"CHOKIDAR_USEPOLLING=1", "CHOKIDAR_INTERVAL=2147483647"} // the maximum of a timer, in ms

// bashEnv names a file that bash reads before it runs a command or a script.
const bashEnv = "BASH_ENV"

// withoutWatching sets watchEnv for droid. The variables must not reach the model's commands, which may watch files with the same library:
// bash, in which droid runs them (0.99 to 0.225), reads the file restore first, which undoes the change. own are the user's values, for the
// MCP servers whose environment this program sets. Hooks, and MCP servers of the user's files, inherit the variables.
func withoutWatching(c *subprocess.Command) (restore *files.PrivateFile, own map[string]string, err error) {
	if runtime.GOOS != "linux" {
		return nil, nil, nil
	}
	restore, err = files.NewPrivateFile("environment", restoreScript(c.Env))
	if err != nil {
		return nil, nil, fmt.Errorf("no file for the environment of droid's commands can be made: %w", err)
	}
	own = make(map[string]string)
	for _, v := range watchEnv {
		name, _, _ := strings.Cut(v, "=")
		own[name], _ = lookup(c.Env, name) // without a value chokidar watches as usual
	}
	c.Env = slices.Concat(c.Env, watchEnv, []string{bashEnv + "=" + restore.Path}) // of duplicate names the last one counts
	return restore, own, nil
}

// restoreScript returns a bash script that undoes the changes of withoutWatching to env.
func restoreScript(env []string) []byte {
	var b strings.Builder
	for _, v := range append(slices.Clone(watchEnv), bashEnv+"=") {
		name, _, _ := strings.Cut(v, "=")
		if value, found := lookup(env, name); found {
			fmt.Fprintf(&b, "export %s=%s\n", name, paths.ShellQuote(value))
		} else {
			fmt.Fprintf(&b, "unset %s\n", name)
		}
	}
	if own, _ := lookup(env, bashEnv); own != "" { // as bash does: it expands the name, and ignores a missing file
		b.WriteString(`eval "[ ! -r \"$BASH_ENV\" ] || . \"$BASH_ENV\""` + "\n")
	}
	return []byte(b.String())
}

// lookup finds a variable in an environment. Of duplicates the last one counts.
func lookup(env []string, name string) (value string, found bool) {
	for _, v := range env {
		if text, ok := strings.CutPrefix(v, name+"="); ok {
			value, found = text, true
		}
	}
	return value, found
}
