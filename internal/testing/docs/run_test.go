package docs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newcomer is the source and an empty home, as somebody has them who begins to read, without
// droid and without a way into a network.
type newcomer struct {
	dir     string
	project string // a directory of the user, in which they run the program
	env     []string
}

// printedPath stands on pages for the path of the program, in commands that are run in a project.
const printedPath = "/path/to/droid-acp"

// newNewcomer copies the files as they are now, those not committed included.
func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "droid-acp")
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, d.Name()) {
			return fs.SkipDir
		}
		var content []byte
		if err == nil && d.Type().IsRegular() {
			content, err = os.ReadFile(path)
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil // of a concurrent test
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		to := filepath.Join(dir, strings.TrimPrefix(path, filepath.FromSlash(root)))
		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, content, 0o755))
	}))
	home, err := os.MkdirTemp("", "home")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(home) }) // go counts its uses there in a process that may outlive this test
	env := []string{
		"HOME=" + home, "TMPDIR=" + t.TempDir(), "PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "DROID_ACP_DROID=/none",
		"TERM=dumb", "LANG=C.UTF-8", "GOPROXY=off", "GOTOOLCHAIN=local", "npm_config_offline=true",
		"http_proxy=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9",
	}
	for _, name := range []string{"GOMODCACHE", "GOCACHE"} { // so that the commands do not take minutes
		value, err := exec.Command("go", "env", name).Output()
		require.NoError(t, err)
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	return &newcomer{dir, t.TempDir(), env}
}

// run runs a command, in the copy or in the project, and returns what it printed and its exit code.
func (n *newcomer) run(t *testing.T, command string) (string, int) {
	t.Helper()
	ctx := t.Context()
	if end, limited := t.Deadline(); limited { // so that the output of one that hangs is reported
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-20*time.Second))
		defer cancel()
	}
	dir := n.dir
	if strings.Contains(command, printedPath) {
		dir, command = n.project, strings.ReplaceAll(command, printedPath, filepath.Join(n.dir, "bin/droid-acp"))
	}
	shell := exec.CommandContext(ctx, "bash", "-euc", command)
	shell.Dir, shell.Env, shell.WaitDelay = dir, n.env, time.Second
	out, err := shell.CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		require.NoError(t, err, command)
	}
	return string(out), shell.ProcessState.ExitCode()
}

// TestEveryCommandOfTheDocuments runs what documents print, or knows why not. README comes
// first, in a copy in which nothing is built yet; the others have what it has built.
func TestEveryCommandOfTheDocuments(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of a shell on Unix")
	}
	reader, documents, list := newNewcomer(t), readDocuments(t), readList(read(t, "testdata/commands.txt"))
	var all []command
	var wrong []string
	paths := slices.Sorted(maps.Keys(documents))
	for _, path := range append([]string{"README.md"}, slices.DeleteFunc(paths, func(path string) bool { return path == "README.md" })...) {
		commands, unread := readCommands(documents[path])
		all, wrong = append(all, commands...), append(wrong, unread...)
		for _, c := range commands {
			wants := list[c.text]
			if !c.fenced || !wants.run {
				continue
			}
			out, code := reader.run(t, c.text)
			if code != wants.exit {
				wrong = append(wrong, fmt.Sprintf("%s: %s: exit code %d\n%s", c.at, c.text, code, out))
			}
			if line := notPrinted(c.printed, out); line != "" {
				wrong = append(wrong, fmt.Sprintf("%s: %s: it does not print, or not there: %s\n%s", c.at, c.text, line, out))
			}
		}
	}
	main, code := reader.run(t, "bin/droid-acp --help")
	require.Zero(t, code, main)
	helps, every := map[string]string{"": main}, main
	for _, name := range ownCommands(main) {
		helps[name], _ = reader.run(t, "bin/droid-acp "+name+" --help")
		every += helps[name]
	}
	makefile := read(t, filepath.Join(root, "Makefile"))
	for _, c := range all {
		wrong = append(wrong, c.check(makefile, helps)...)
	}
	for _, d := range documents { // flags within lines
		for _, span := range d.spans {
			if flag := flagPattern.FindString(span.text); strings.HasPrefix(flag, "--") && !hasFlag(every, flag) {
				wrong = append(wrong, fmt.Sprintf("%s:%d: droid-acp has no flag %s", d.path, span.line, flag))
			}
		}
	}
	wrong = append(wrong, checkList(list, all)...)
	require.Empty(t, wrong, strings.Join(wrong, "\n"))
}

// ownCommands are the commands that the program's help lists, in indented lines.
func ownCommands(help string) (names []string) {
	_, list, _ := strings.Cut(help, "\nAvailable Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		if name, _, _ := strings.Cut(line[2:], " "); name != "" { // else the line above goes on
			names = append(names, name)
		}
	}
	return names
}

var numberPattern = regexp.MustCompile(`[0-9]+(?:[.:][0-9]+)*`)

// notPrinted returns the first line that a document shows below a command and that the
// command did not print behind the lines before it, or "". Numbers and white space may
// differ, "…" stands for anything, and lines may be left out.
func notPrinted(shown []string, printed string) string {
	plain := func(line string) string {
		return strings.Join(strings.Fields(numberPattern.ReplaceAllString(line, "0")), " ")
	}
	rest := strings.Split(printed, "\n")
	for _, line := range shown {
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(plain(line)), "…", ".*") + "$")
		at := slices.IndexFunc(rest, func(printed string) bool { return pattern.MatchString(plain(printed)) })
		if at < 0 {
			return line
		}
		rest = rest[at+1:]
	}
	return ""
}

func TestNotPrinted(t *testing.T) {
	const printed = "one  1.5s\ntwo /tmp/x here\n\nthree"
	for shown, want := range map[string]string{
		"": "", "one 2s": "", "two … here/three": "", "one 1s/…/three": "", "…": "",
		"on": "on", "three/one 1.5s": "one 1.5s", "two …there": "two …there", "three/three": "three", "four": "four",
	} {
		require.Equal(t, want, notPrinted(strings.Split(shown, "/"), printed), shown)
	}
}
