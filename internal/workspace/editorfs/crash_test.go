//go:build unix

package editorfs

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// crashEnv has the instructions of a child process, separated by commas: the base directory, the kind of edit, and the step at which it
// kills itself.
const crashEnv = "DROID_ACP_TEST_EDIT_CRASH"

const (
	crashOld   = "one\ntwo\nthree\n"
	crashTyped = "typed\none\ntwo\nthree\n"
	crashNew   = "one\ndroid's line\ntwo\nthree\n"
)

// crashEditor dies with the agent. It writes in place, without care.
type crashEditor struct {
	kind   string
	mu     sync.Mutex
	buffer string // unsaved, or ""
	wait   func()
}

func (e *crashEditor) ReadTextFile(_ context.Context, path string) (string, error) {
	e.wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.buffer != "" {
		return e.buffer, nil
	}
	data, err := os.ReadFile(path)
	return string(data), err
}

func (e *crashEditor) WriteTextFile(_ context.Context, path, text string) error {
	e.wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.buffer = ""
	switch {
	case e.kind == "refused" && text == crashNew:
		return errors.New("refused")
	case e.kind == "torn" && text == crashNew:
		_ = os.WriteFile(path, []byte(text[:len(text)/2]), 0o644)
		die()
	case e.kind == "emptied" && text == crashNew:
		_ = os.WriteFile(path, nil, 0o644)
		die()
	case e.kind == "backedup" && text == crashNew:
		_ = os.Link(path, path+".backup")
		_ = os.WriteFile(path, nil, 0o644)
		die()
	case e.kind == "outlived" && text == crashNew:
		// It has the request, outlives the agent, and would do the edit in a buffer
		// that it has reloaded.
		script := `sleep 0.3; if grep -q droid "$1"; then echo twice >>"$1"; else printf %s "$2" >"$1"; fi; echo >"$1.done"`
		if err := exec.Command("sh", "-c", script, "sh", path, text).Start(); err != nil {
			panic(err)
		}
		die()
	case e.kind == "formatted" && text == crashNew:
		text = strings.ReplaceAll(text, "\n", " \n")
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// crashChild is one agent that edits one file, or only replays.
func crashChild() {
	args := strings.Split(os.Getenv(crashEnv), ",")
	base, kind := args[0], args[1]
	last, _ := strconv.Atoi(args[2])
	steps := 0
	editor := &crashEditor{kind: kind, wait: func() {}}
	if strings.HasPrefix(kind, "slow") {
		editor.wait = func() { time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond) }
	}
	f := newFiles(Options{Journal: filepath.Join(base, "journal"), Changed: fs.FileInfo.ModTime})
	f.quiet, f.wait, f.step = 0, time.Second, func(name stepName) {
		if steps++; steps == last {
			die()
		}
		if kind == "shut" && name == stepRename {
			_ = os.Chmod(filepath.Join(base, "project"), 0o555)
		}
	}
	if err := f.begin(); err != nil {
		panic(err)
	}
	if kind == "mend" {
		f.Close()
		os.Stdout.WriteString("done\n")
		return
	}
	d, path, ctx := f.Overlay(async{editor}, OverlayOptions{}), filepath.Join(base, "project", "a.txt"), context.Background()
	if kind == "unsaved" {
		editor.buffer = crashTyped
	}
	if strings.HasSuffix(kind, "link") {
		path = filepath.Join(base, "link")
	}
	d.BeginEdit(ctx, "call", []string{path})
	if err := os.WriteFile(path, []byte(crashNew), 0o644); err != nil {
		panic(err)
	}
	os.Stdout.WriteString("wrote\n")
	d.EndEdit(ctx, "call")
	d.Close()
	f.Close()
	os.Stdout.WriteString("done\n")
}

// crashProgram is this program, also for a user who may not enter its directory.
func crashProgram() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	return os.Args[0]
}

// crash runs a child until it kills itself at a step, or is killed some time after droid has written, when meanwhile is called. It reports
// how far it came. No test that calls it may be parallel (t.Parallel): between its fork and its exec the child holds the locks of the
// others.
func crash(t *testing.T, base, kind string, step int, kill time.Duration, meanwhile ...func()) (wrote, done bool) {
	cmd := exec.Command(crashProgram())
	cmd.Env = append(os.Environ(), crashEnv+"="+strings.Join([]string{base, kind, strconv.Itoa(step)}, ","))
	if info, err := os.Stat(base); err == nil {
		if owner := info.Sys().(*syscall.Stat_t); int(owner.Uid) != os.Geteuid() {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
		}
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	wrote = lines.Scan() && lines.Text() == "wrote"
	if kill > 0 {
		timer := time.AfterFunc(kill, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	for _, do := range meanwhile {
		do()
	}
	done = lines.Text() == "done" || lines.Scan() && lines.Text() == "done"
	_, _ = io.Copy(io.Discard, out)
	err = cmd.Wait()
	require.True(t, done || err != nil && strings.Contains(err.Error(), "killed"), "%v", err)
	return wrote, done
}

// crashRoom is the room of a child.
func crashRoom(t *testing.T, kind string) (base, path string) {
	base = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(base, "project"), 0o755))
	path = filepath.Join(base, "project", "a.txt")
	if !strings.HasSuffix(kind, "new") {
		require.NoError(t, os.WriteFile(path, []byte(crashOld), 0o644))
		before := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(path, before, before))
	}
	if strings.HasSuffix(kind, "link") {
		require.NoError(t, os.Symlink(filepath.Join("project", "a.txt"), filepath.Join(base, "link")))
	}
	return base, path
}

// mended opens the journal like the next agent, and checks the file's content.
func mended(t *testing.T, base, path, kind string, wrote bool) {
	t.Helper()
	f := newFiles(Options{Journal: filepath.Join(base, "journal")})
	f.quiet = 0
	require.NoError(t, f.begin())
	begun, _ := os.ReadFile(path)
	f.Close()
	require.NoDirExists(t, f.journal)
	data, err := os.ReadFile(path)
	text := string(data)
	require.Equal(t, string(begun), text, "the start completes the edit")
	switch {
	case wrote && kind == "formatted":
		require.Contains(t, []string{crashNew, strings.ReplaceAll(crashNew, "\n", " \n")}, text)
	case wrote:
		require.Equal(t, crashNew, text, "droid was told of success")
	case kind == "new":
		require.ErrorIs(t, err, fs.ErrNotExist)
	default:
		require.Contains(t, []string{crashOld, crashTyped, crashNew}, text)
	}
	if kind == "link" {
		to, err := os.Readlink(filepath.Join(base, "link"))
		require.NoError(t, err)
		require.Equal(t, filepath.Join("project", "a.txt"), to)
	}
	require.NoError(t, filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		if name == "a.txt.backup" {
			backup, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Contains(t, []string{crashOld, crashNew}, string(backup), "what another name of the file has")
			return nil
		}
		require.True(t, d.IsDir() || name == "a.txt" || name == "link", path)
		return err
	}))
}

// TestKilledAtEachStep kills agent and editor together before each step of an edit.
func TestKilledAtEachStep(t *testing.T) {
	for _, kind := range []string{"plain", "new", "link", "unsaved", "refused", "formatted", "torn", "emptied", "backedup"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for step := 1; ; step++ {
				require.Less(t, step, 50)
				base, path := crashRoom(t, kind)
				wrote, done := crash(t, base, kind, step, 0)
				mended(t, base, path, kind, wrote)
				if done || step > 30 {
					require.Greater(t, step, 8)
					return
				}
			}
		})
	}
}

// TestKilledDuringReplay kills the next agent, too, before each of its steps.
func TestKilledDuringReplay(t *testing.T) {
	for edit := 4; edit <= 9; edit++ {
		for step := 1; ; step++ {
			require.Less(t, step, 10)
			base, path := crashRoom(t, "refused")
			wrote, _ := crash(t, base, "refused", edit, 0)
			_, done := crash(t, base, "mend", step, 0)
			mended(t, base, path, "refused", wrote)
			if done {
				break
			}
		}
	}
}

// TestKilledAtRandom kills them 50 times at any moment.
func TestKilledAtRandom(t *testing.T) {
	for range 50 {
		base, path := crashRoom(t, "slow")
		wrote, _ := crash(t, base, "slow", 0, 1+time.Duration(rand.Int64N(int64(40*time.Millisecond))))
		mended(t, base, path, "slow", wrote)
	}
}

// TestEditorOutlivesTheAgent: the editor does the write when the agent was killed. The next agent
// does not replay the file under its hands.
func TestEditorOutlivesTheAgent(t *testing.T) {
	base, path := crashRoom(t, "outlived")
	wrote, done := crash(t, base, "outlived", 0, 0)
	require.True(t, wrote && !done)
	f, err := Open(Options{Journal: filepath.Join(base, "journal")})
	require.NoError(t, err)
	f.Close()
	require.Eventually(t, func() bool { _, err := os.Stat(path + ".done"); return err == nil }, 10*time.Second, 10*time.Millisecond)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, crashNew, string(data))
	require.NoDirExists(t, f.journal)
}
