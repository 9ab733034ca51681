package subprocess

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/sys/files"
)

// A program that does not end though it was killed, as one that waits for a dead file
// system, is given up.
func TestUnkillableProgramIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess()
		go p.follow()
		close(p.stderrRead)
		p.closeTerminated()
		p.closeKilled()
		began := time.Now()
		<-p.AllExited()
		require.Equal(t, killTimeout, time.Since(began))
		require.Equal(t, Exit{Code: -1, Text: errNotExited.Error(), Err: errNotExited}, p.Exit(0))
	})
}

// Nothing is started where the program or its directory does not answer, nor is it waited for.
func TestStartGivesUp(t *testing.T) {
	for hung, c := range map[string]Command{"/dead": {Path: os.Args[0], Dir: "/dead"}, "/dead/program": {Path: "/dead/program"}} {
		synctest.Test(t, func(t *testing.T) {
			hangs := make(chan struct{})
			c.stat = func(path string) (fs.FileInfo, error) {
				require.Equal(t, hung, path)
				<-hangs
				return nil, nil
			}
			_, err := Start(c)
			require.ErrorIs(t, err, files.ErrHangs)
			close(hangs)
		})
	}
}

// A file system that does not answer is not waited for.
func TestLookPathGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		_, err := callBounded("/dead/file", func(string) (string, error) { <-hangs; return "", nil })
		require.ErrorIs(t, err, files.ErrHangs)
		close(hangs)
	})
}

func TestLookPath(t *testing.T) {
	_, err := LookPath("no such program")
	require.ErrorIs(t, err, ErrNotFound)
	var find *LookPathError
	require.ErrorAs(t, err, &find)
}

func TestTail(t *testing.T) {
	var tail Tail
	for _, s := range []string{"fir", "st\n\n", "sec\xffond\r\n", strings.Repeat("x", 3*TailLine), "\nlast"} {
		n, err := tail.Write([]byte(s))
		require.NoError(t, err)
		require.Equal(t, len(s), n)
	}
	lines, count := tail.Lines()
	require.Equal(t, []string{"first", "sec\uFFFDond", strings.Repeat("x", TailLine), "last"}, lines)
	require.Equal(t, 4, count)
	_, _ = tail.Write([]byte(strings.Repeat("y\n", TailLines)))
	lines, count = tail.Lines()
	require.Equal(t, strings.Split(strings.TrimSpace(strings.Repeat("y\n", TailLines)), "\n"), lines)
	require.Equal(t, 24, count)
	_, _ = tail.Write(make([]byte, 1<<20))
	require.LessOrEqual(t, cap(tail.partial), 2*TailLine)
}

// The batch files are those that npm's cmd-shim writes; the rest is written by people.
func TestResolveShim(t *testing.T) {
	const head = "@ECHO off\r\nGOTO start\r\n:find_dp0\r\nSET dp0=%~dp0\r\nEXIT /b\r\n:start\r\nSETLOCAL\r\nCALL :find_dp0\r\n\r\n"
	const node = "IF EXIST \"%dp0%\\node.exe\" (\r\n  SET \"_prog=%dp0%\\node.exe\"\r\n) ELSE (\r\n  SET \"_prog=node\"\r\n  SET PATHEXT=%PATHEXT:;.JS;=;%\r\n)\r\n\r\n"
	for text, want := range map[string][2]string{
		head + node + "endLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & \"%_prog%\"  \"%dp0%\\node_modules\\droid\\bin\\droid\" %*\r\n": {`C:\R&D\node.exe`, `C:\R&D\node_modules\droid\bin\droid`},
		head + "\"%dp0%\\node_modules\\droid\\bin\\droid.exe\"   %*\r\n":                                                                        {`C:\R&D\node_modules\droid\bin\droid.exe`, ""},
		"\"%~dp0\\node_modules\\droid\\droid.exe\"   %*":                                                                                        {`C:\R&D\node_modules\droid\droid.exe`, ""},
		head + "\"%dp0%\\node_modules\\droid\\droid.sh\"   %*\r\n":                                                                              {"", ""},
		"@echo off\r\nset X=1\r\nC:\\droid\\droid.exe %*\r\n":                                                                                   {"", ""},
		"": {"", ""},
	} {
		program, script := resolveShim(text, `C:\R&D`)
		require.Equal(t, want, [2]string{program, script}, text)
	}
}

func TestCheckBatchArgs(t *testing.T) {
	require.NoError(t, checkBatchArgs([]string{`C:\a b\droid.cmd`, "exec", "--cwd", `C:\Users\x (y)\z`}))
	for _, word := range []string{`C:\R&D`, "100%", "a^b", `a"b`, "a|b", "a\nb", "<", ">", "!"} {
		err := checkBatchArgs([]string{"droid.cmd", "--cwd", word})
		require.ErrorContains(t, err, "cannot be passed as it is")
	}
	require.Error(t, checkBatchArgs([]string{`C:\R&D\droid.cmd`}))
}

func TestDirectoryIsLookedAtFirst(t *testing.T) {
	file := t.TempDir() + "/file"
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := Start(Command{Path: os.Args[0], Dir: file})
	require.ErrorIs(t, err, ErrDir)
	require.ErrorContains(t, err, "not a directory")
	_, err = Start(Command{Path: os.Args[0], Dir: file + "none"})
	require.True(t, errors.Is(err, os.ErrNotExist))
}
