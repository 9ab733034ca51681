package files

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// envMaker makes this test program one that makes a directory and waits to be killed.
const envMaker = "TEMPDIR_TEST_MAKER"

func TestMain(m *testing.M) {
	if id := os.Getenv(envMaker); id != "" {
		if err := makeFor(id); err != nil {
			panic(err)
		}
		fmt.Println("made")
		_, _ = os.Stdin.Read(make([]byte, 1))
	}
	os.Exit(m.Run())
}

// aPrivate is the id of a maker that makes a private file, with this text, instead of a directory.
const aPrivate = "private"

func makeFor(id string) error {
	if id == aPrivate {
		_, err := NewPrivateFile("test", []byte(aPrivate))
		return err
	}
	dir, _, err := MakeTempDir("test", id)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir.Path, "file"), nil, 0o600)
}

// temporary is an empty directory for temporary files, also of the processes that are started.
func temporary(t *testing.T) string {
	t.Helper()
	tmp := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, tmp)
	}
	return tmp
}

// maker is another process that has a directory, until it is killed.
func maker(t *testing.T, id string) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envMaker+"="+id)
	_, err := cmd.StdinPipe() // it waits for the end of it
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line := make([]byte, 5)
	_, err = out.Read(line)
	require.NoError(t, err)
	require.Equal(t, "made\n", string(line))
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	}
}

func names(t *testing.T, dir string) string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestDirectoryIsPrivateAndGoes(t *testing.T) {
	tmp := temporary(t)
	dir, left, err := MakeTempDir("test", "a")
	require.NoError(t, err)
	require.Empty(t, left)
	info, err := os.Stat(dir.Path)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir.Path, "file"), nil, 0o600))
	_, _, err = MakeTempDir("test", "a")
	require.ErrorIs(t, err, os.ErrExist)
	require.NoError(t, dir.Remove())
	require.Empty(t, names(t, tmp))
}

// TestAbandonedDirsAreRemoved, and nothing of those that live.
func TestAbandonedDirsAreRemoved(t *testing.T) {
	tmp := temporary(t)
	kill, killOther := maker(t, "one"), maker(t, "two")
	defer killOther()
	first, left, err := MakeTempDir("test", "three")
	require.NoError(t, err)
	require.Empty(t, left)
	kill()
	other, left, err := MakeTempDir("other", "x")
	require.NoError(t, err)
	require.Empty(t, left, "another kind")
	second, left, err := MakeTempDir("test", "four")
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, left)
	there := regexp.MustCompile(` ?\S+\.lock`).ReplaceAllString(names(t, tmp), "") // Windows has one for each
	require.Equal(t, "droid-acp-other.x droid-acp-test.four droid-acp-test.three droid-acp-test.two", there)
	for _, d := range []*TempDir{first, second, other} {
		require.NoError(t, d.Remove())
	}
	killOther()
	last, left, err := MakeTempDir("test", "five")
	require.NoError(t, err)
	require.Equal(t, []string{"two"}, left)
	require.NoError(t, last.Remove())
	require.Empty(t, names(t, tmp))
}

// TestPlantedNamesStay: links, files, what others can enter or own, and what earlier
// versions made.
func TestPlantedNamesStay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there, and directories have no modes")
	}
	tmp, kept := temporary(t), t.TempDir()
	file := filepath.Join(kept, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Chmod(kept, 0o700))
	at := func(name string) string { return filepath.Join(tmp, "droid-acp-test"+name) }
	require.NoError(t, os.Symlink(kept, at(".link")))
	require.NoError(t, os.WriteFile(at(".file"), nil, 0o600))
	require.NoError(t, os.Mkdir(at(".open"), 0o755))
	require.NoError(t, os.Mkdir(at("-earlier"), 0o700))
	require.NoError(t, os.Mkdir(at(".mine"), 0o700))
	require.NoError(t, os.Symlink(kept, at(".mine/inside")))
	before := "droid-acp-test-earlier droid-acp-test.file droid-acp-test.link "
	if os.Geteuid() == 0 {
		require.NoError(t, os.Mkdir(at(".theirs"), 0o700))
		require.NoError(t, os.Chown(at(".theirs"), 65534, 65534))
	}
	dir, left, err := MakeTempDir("test", "a")
	require.NoError(t, err)
	require.Equal(t, []string{"mine"}, left)
	require.NoError(t, dir.Remove())
	require.Contains(t, names(t, tmp), before+"droid-acp-test.open")
	require.Equal(t, os.Geteuid() == 0, strings.Contains(names(t, tmp), ".theirs"))
	require.FileExists(t, file)
	_, _, err = MakeTempDir("test", "link")
	require.ErrorIs(t, err, os.ErrExist)
}

// TestManyAtOnce: no sweep takes the directory of one who makes one at the same time.
func TestManyAtOnce(t *testing.T) {
	tmp := temporary(t)
	var makers sync.WaitGroup
	for i := range 8 {
		makers.Go(func() {
			for n := range 50 {
				dir, _, err := MakeTempDir("test", fmt.Sprintf("%d-%d", i, n))
				if err != nil {
					t.Errorf("no directory: %v", err)
					return
				}
				if err := os.WriteFile(filepath.Join(dir.Path, "file"), nil, 0o600); err != nil {
					t.Errorf("it is gone: %v", err)
				}
				if err := dir.Remove(); err != nil {
					t.Errorf("it stays: %v", err)
				}
			}
		})
	}
	makers.Wait()
	require.Empty(t, names(t, tmp))
}

// A private file of an agent that was killed, which may hold secrets, goes with the next one that is made, and no
// file of one that lives.
func TestAbandonedPrivateFilesAreRemoved(t *testing.T) {
	tmp := temporary(t)
	kill := maker(t, aPrivate)
	mine, err := NewPrivateFile("mine", []byte("mine"))
	require.NoError(t, err)
	if strings.HasPrefix(mine.Path, tmp) { // else it is in memory
		require.Contains(t, texts(t, tmp), aPrivate)
	}
	kill()
	next, err := NewPrivateFile("next", []byte("next"))
	require.NoError(t, err)
	require.NotContains(t, texts(t, tmp), aPrivate)
	for _, f := range []*PrivateFile{mine, next} {
		_, err := os.Stat(f.Path)
		require.NoError(t, err)
		f.Close()
	}
	require.Empty(t, names(t, tmp))
}

// texts are those of all files below a directory.
func texts(t *testing.T, dir string) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, string(text))
		return err
	}))
	return all
}
