package docs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// newcomer is the source and an empty home, as somebody has them who begins to read.
type newcomer struct {
	dir string
	env []string
}

// newNewcomer copies the files as they are now, those not committed included.
func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	n := &newcomer{dir: filepath.Join(t.TempDir(), "droid-acp")}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil // of a test that runs beside this one
		}
		if err == nil && d.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, d.Name()) {
			return fs.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		name, err := filepath.Rel(root, path)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(n.dir, name)), 0o755))
		return os.WriteFile(filepath.Join(n.dir, name), content, info.Mode().Perm())
	}))
	n.env = append(newcomersEnv(t), "PATH="+filepath.Join(n.dir, "bin")+string(os.PathListSeparator)+pathWithoutDroid())
	return n
}

// newcomersEnv has an empty home and no way into a network. What Go has downloaded and
// built is kept, so that the commands do not take minutes.
func newcomersEnv(t *testing.T) []string {
	t.Helper()
	home, err := os.MkdirTemp("", "home")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(home) }) // go counts its uses there in a process that may outlive this test
	env := []string{
		"HOME=" + home, "TMPDIR=" + t.TempDir(), "PATH=" + pathWithoutDroid(), "TERM=dumb", "LANG=C.UTF-8",
		"GOPROXY=off", "GOTOOLCHAIN=local", "npm_config_offline=true",
		"http_proxy=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9",
	}
	for _, name := range []string{"GOMODCACHE", "GOCACHE"} {
		value, err := exec.Command("go", "env", name).Output()
		require.NoError(t, err)
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	return env
}

// pathWithoutDroid is this machine's PATH without directories that have droid, but for those
// that have what the commands need. A newcomer has no droid.
func pathWithoutDroid() string {
	has := func(dir, program string) bool {
		_, err := os.Stat(filepath.Join(dir, program))
		return err == nil
	}
	return strings.Join(slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		return has(dir, "droid") && !has(dir, "go") && !has(dir, "git") && !has(dir, "make") && !has(dir, "bash")
	}), string(os.PathListSeparator))
}

// run runs a command in the copy and returns what it printed and its exit code.
func (n *newcomer) run(t *testing.T, command string) (string, int) {
	t.Helper()
	ctx := t.Context()
	if end, limited := t.Deadline(); limited { // so that the output of one that hangs is told
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-20*time.Second))
		defer cancel()
	}
	shell := exec.CommandContext(ctx, "bash", "-euc", command)
	shell.Dir, shell.Env, shell.WaitDelay = n.dir, n.env, time.Second
	out, err := shell.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err, command)
	}
	return string(out), shell.ProcessState.ExitCode()
}

// help is world.help of the program that the newcomer has built.
func (n *newcomer) help(t *testing.T) func(string) (string, bool) {
	known := map[string]string{}
	ask := func(name string) string {
		if _, asked := known[name]; !asked {
			text, code := n.run(t, "bin/droid-acp "+name+" --help")
			require.Zero(t, code, text)
			known[name] = text
		}
		return known[name]
	}
	return func(name string) (string, bool) {
		main := ask("")
		if name == "" {
			return main, true
		}
		if !slices.Contains(ownCommands(main), name) {
			return "", false
		}
		return ask(name), true
	}
}

// TestEveryCommandOfTheDocuments runs what documents print, or knows why not. README comes
// first, in a copy in which nothing is built yet; the others have what it has built.
func TestEveryCommandOfTheDocuments(t *testing.T) {
	needsShell(t)
	list, wrong := readList(read(t, listPath))
	require.Empty(t, wrong)
	reader := newNewcomer(t)
	w := newWorld(t, reader.help(t))
	var all []command
	for _, d := range inReadingOrder(readDocuments(t, root)) {
		commands, unread := readCommands(d)
		wrong = append(wrong, unread...)
		all = append(all, commands...)
		for _, c := range commands {
			if e := find(list, oneLine(c.text)); c.fenced && e != nil && e.fate == "run" {
				began := time.Now()
				out, code := reader.run(t, c.text)
				if code != e.exit {
					wrong = append(wrong, fmt.Sprintf("%s: exit code %d\n%s", c, code, out))
				}
				if line := notPrinted(c.printed, out); line != "" {
					wrong = append(wrong, fmt.Sprintf("%s: it does not print, or not there: %s\n%s", c, line, out))
				}
				t.Logf("%s: %v", c, time.Since(began).Round(time.Millisecond))
			}
		}
	}
	for _, c := range all {
		wrong = append(wrong, w.check(c)...)
	}
	wrong = append(wrong, w.checkList(list, all)...)
	wrong = append(wrong, wrongFlags(w, readDocuments(t, root))...)
	require.Empty(t, wrong, strings.Join(wrong, "\n"))
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
		"": "", "one 2s": "", "two … here/three": "", "one 1s/…/three": "", "…": "", "one 1s//three": "",
		"on": "on", "three/one 1.5s": "one 1.5s", "two …there": "two …there", "three/three": "three", "four": "four",
	} {
		require.Equal(t, want, notPrinted(strings.Split(shown, "/"), printed), shown)
	}
}

func needsShell(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of a shell on Unix")
	}
}

// inReadingOrder is README and the others by name.
func inReadingOrder(all map[string]*document) (ordered []*document) {
	for _, d := range all {
		ordered = append(ordered, d)
	}
	slices.SortFunc(ordered, func(a, b *document) int {
		if (a.path == "README.md") != (b.path == "README.md") {
			return map[bool]int{true: -1, false: 1}[a.path == "README.md"]
		}
		return strings.Compare(a.path, b.path)
	})
	return ordered
}

// wrongFlags are flags within lines ("--park-after") that no help text has.
func wrongFlags(w world, all map[string]*document) (wrong []string) {
	text, _ := w.help("")
	for _, name := range ownCommands(text) {
		help, _ := w.help(name)
		text += "\n" + help
	}
	for _, d := range all {
		for _, span := range d.spans {
			if flag := flagPattern.FindString(span.text); strings.HasPrefix(flag, "--") && !hasFlag(text, flag) {
				wrong = append(wrong, fmt.Sprintf("%s:%d: droid-acp has no flag %s", d.path, span.line, flag))
			}
		}
	}
	return wrong
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

func TestWrongFlagsAreFound(t *testing.T) {
	w := world{help: func(command string) (string, bool) {
		return map[string]string{"": "Usage:\n  droid-acp [flags]\n\nAvailable Commands:\n  smoke  talk\n         much\n\n--mode", "smoke": "--demo"}[command], true
	}}
	for span, wants := range map[string]int{"--mode": 0, "--mode X": 0, "--demo": 0, "--demos": 1, "--mod": 1, "-x": 0, "droid --x": 0} {
		require.Len(t, wrongFlags(w, map[string]*document{"a.md": parseDocument("a.md", "`"+span+"`\n")}), wants, span)
	}
}

// TestNewcomerIsAlone: commands see neither this home nor a network, and their failures are
// seen.
func TestNewcomerIsAlone(t *testing.T) {
	needsShell(t)
	n := &newcomer{dir: t.TempDir(), env: newcomersEnv(t)}
	out, code := n.run(t, "echo $HOME $GOPROXY; ls -A $HOME")
	require.Zero(t, code)
	require.NotContains(t, out, os.Getenv("HOME")+" ")
	require.Len(t, strings.Fields(out), 2)
	_, code = n.run(t, "false; true")
	require.Equal(t, 1, code)
}
