package via

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"droid-acp/internal/remote/relay"
)

// program builds a small program named droid-acp, for a system.
func program(t *testing.T, system, says string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "droid-acp")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module x/droid-acp\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(`package main

import "os"

func main() { os.Stdout.WriteString("{\"method\":\"`+says+`\"}\n"); os.Stdin.Read(make([]byte, 1)) }
`), 0o600))
	build := exec.Command("go", "build", "-o", "built", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=mod", "GOOS="+system)
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(dir, "built")
}

// copies runs a relay that copies a file, and returns its result. "env" stands for the command that runs programs at a far side.
func copies(t *testing.T, file, to string) (told string, copied int, err error) {
	t.Helper()
	logged, logs := observer.New(zap.InfoLevel)
	r := newRig(t, "/l=/r", "env", "A=b", to, "--flag")
	r.relay.Copy, r.relay.Log = file, zap.New(logged)
	r.run(t.Context())
	go func() { _, _ = r.editor.Write([]byte(`{"id":1,"method":"initialize"}` + "\n")) }()
	told = r.near.Line()
	require.NoError(t, r.editor.Close())
	go r.near.Rest()
	err = <-r.ended
	return told, logs.FilterMessage("droid-acp is copied to the far side").Len(), err
}

func TestCopy(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("it needs programs that other systems do not have")
	}
	one, two := program(t, "linux", "one"), program(t, "linux", "two")
	to := filepath.Join(t.TempDir(), "new", "bin", "droid-acp")
	for _, tc := range []struct {
		file, says string
		copied     int
	}{{one, "one", 1}, {one, "one", 0}, {two, "two", 1}} {
		told, copied, _ := copies(t, tc.file, to)
		require.Equal(t, `{"method":"`+tc.says+`"}`, told)
		require.Equal(t, tc.copied, copied)
	}
	require.NoError(t, os.Truncate(to, 100))
	told, copied, _ := copies(t, two, to)
	require.Equal(t, `{"method":"two"}`, told)
	require.Equal(t, 1, copied, "a copy that broke off is no copy")
	left, err := os.ReadDir(filepath.Dir(to))
	require.NoError(t, err)
	require.Len(t, left, 1)

	var both sync.WaitGroup
	require.NoError(t, os.Remove(to))
	for range 2 {
		both.Go(func() {
			f := (&programCopy{relay.Agent{Name: "droid-acp"}, []string{"env"}, to, one, zap.NewNop()}).copy(t.Context())
			if f != nil {
				t.Error(f)
			}
		})
	}
	both.Wait()
	told, copied, _ = copies(t, one, to)
	require.Equal(t, `{"method":"one"}`, told)
	require.Zero(t, copied)
}

// Text that a shell at the far side prints before and after each program is not part of the program's output.
func TestCopyPastAGreeting(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("it needs programs that other systems do not have")
	}
	greets := []string{"sh", "-c", `echo "Welcome to Linux"; echo; echo "3 updates"; "$@"; code=$?; echo "Good bye"; exit $code`, "sh"}
	file, to := program(t, "linux", "x"), filepath.Join(t.TempDir(), "bin", "droid-acp")
	for _, want := range []int{1, 0} {
		logged, logs := observer.New(zap.InfoLevel)
		if f := (&programCopy{relay.Agent{Name: "droid-acp"}, greets, to, file, zap.New(logged)}).copy(t.Context()); f != nil {
			require.NoError(t, f)
		}
		require.Equal(t, want, logs.Len(), "it is copied once")
	}
	f := (&programCopy{relay.Agent{Name: "droid-acp"}, greets, to, program(t, "darwin", "x"), zap.NewNop()}).copy(t.Context())
	require.ErrorContains(t, f, "and the far side is linux/"+runtime.GOARCH)
}

// An editor that has closed its end is not waited for, and an unresponsive far side does not block the relay. Pending requests get the
// reason.
func TestEditorGoesWhileCopying(t *testing.T) {
	dir, err := os.MkdirTemp("", "via")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "far"))
	require.NoError(t, err)
	defer l.Close()
	r := newRig(t, "", os.Args[0], "far", l.Addr().String(), "x/droid-acp")
	r.relay.Copy, r.relay.agentEndTime = os.Args[0], 0
	r.run(t.Context())
	conn, err := l.Accept() // it hangs
	require.NoError(t, err)
	defer conn.Close()
	r.near.Say(`{"id":1,"method":"initialize","params":{}}`)
	require.NoError(t, r.editor.Close())
	require.Contains(t, r.near.Line(), `"id":1,"error":{"code":-32603,"message":"droid-acp was not copied to x/droid-acp at the far side: the editor closed its end before the copy was there.`)
	require.ErrorContains(t, <-r.ended, "the editor closed its end")
}

// The check in docs/elsewhere.md ends its input at once.
func TestCopyIsAnsweredThoughTheInputEnds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it needs programs that other systems do not have")
	}
	r := newRig(t, "/l=/r", "env", filepath.Join(t.TempDir(), "droid-acp"))
	r.relay.Copy = program(t, "linux", "x")
	r.run(t.Context())
	r.near.Say(`{"id":1,"method":"initialize"}`)
	require.NoError(t, r.editor.Close())
	require.Equal(t, `{"method":"x"}`, r.near.Line())
	require.Contains(t, r.near.Line(), `"id":1,"error":{"code":-32603,"message":"The far side has ended.`, "it answers nothing")
	require.Error(t, <-r.ended)
}

func TestCopyFails(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it needs programs that other systems do not have")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	for _, tc := range []struct{ file, to, kind, want string }{
		{filepath.Join(dir, "none"), dir + "/droid-acp", "far_not_copied", "it cannot be read here"},
		{file, dir + "/droid-acp", "far_not_copied", file + " is no droid-acp. Mend that, or install it there by hand."},
		{program(t, "darwin", "x"), dir + "/droid-acp", "far_wrong_program", "it is for darwin/" + runtime.GOARCH + ", and the far side is linux/" + runtime.GOARCH + ". Download the one for that system and name it with --binary"},
		{program(t, "linux", "x"), file + "/droid-acp", "far_not_copied", "mkdir -p " + file + "` ended (exit status 1). It said:"},
		{program(t, "linux", "x"), "/dev/full/droid-acp", "far_not_copied", "mkdir"},
	} {
		told, _, err := copies(t, tc.file, tc.to)
		require.Contains(t, told, `"id":1,"error":{"code":-32603,"message":"droid-acp was not copied`)
		require.Contains(t, told, `"kind":"`+tc.kind+`"`)
		require.ErrorContains(t, err, tc.want)
	}
	t.Setenv("PATH", dir) // the far side has no programs
	env, err := exec.LookPath("/usr/bin/env")
	require.NoError(t, err)
	f := (&programCopy{relay.Agent{Name: "droid-acp"}, []string{env}, "/x/droid-acp", file, zap.NewNop()}).copy(t.Context())
	require.ErrorContains(t, f, "neither sha256sum nor shasum")
	f = (&programCopy{relay.Agent{Name: "droid-acp"}, []string{"ssh"}, "/x/droid-acp", file, zap.NewNop()}).copy(t.Context())
	require.Equal(t, NoCommand, f.Kind)
	f = (&programCopy{relay.Agent{Name: "droid-acp"}, []string{os.Args[0], "ends", "255", "ssh: connect to host h: Connection refused"}, "/x/droid-acp", file, zap.NewNop()}).copy(t.Context())
	require.Equal(t, Unreachable, f.Kind)
}

// A program that closes its stdout before it has read all of its stdin gets no more of it in a pod.
func TestCopyIntoAPod(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it needs programs that other systems do not have")
	}
	dir := t.TempDir()
	file, to := program(t, "linux", "x"), filepath.Join(dir, "droid-acp")
	if f := (&programCopy{relay.Agent{Name: "droid-acp"}, []string{os.Args[0], "containerd"}, to, file, zap.NewNop()}).copy(t.Context()); f != nil {
		require.NoError(t, f)
	}
	sent, err := os.ReadFile(file)
	require.NoError(t, err)
	came, err := os.ReadFile(to)
	require.NoError(t, err)
	require.Equal(t, sent, came)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestCopyIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := (&programCopy{relay.Agent{Name: "droid-acp"}, []string{os.Args[0], "far"}, "/x/droid-acp", os.Args[0], zap.NewNop()}).copy(ctx)
	require.NotNil(t, f)
}

func TestWhereToCopy(t *testing.T) {
	for command, want := range map[string]int{
		"ssh host .local/bin/droid-acp --flag": 2, "docker exec -i c /tmp/droid-acp acp": 4, "ssh host droid-acp": -1, "/opt/droid-acp x": -1,
		"ssh host ~/bin/droid-acp": -1, "ssh host $HOME/droid-acp": -1, "ssh host -o/droid-acp": -1, "ssh host a;b/droid-acp": -1, "droid-acp": -1, "wsl.exe ./droid-acp": 1,
	} {
		require.Equal(t, want, programIndex("droid-acp", strings.Fields(command)), command)
		require.Equal(t, want < 0, CheckCopy("droid-acp", strings.Fields(command)) != nil)
	}
	require.Equal(t, -1, programIndex("droid-acp", []string{"ssh", "h", "cd x && bin/droid-acp"}))
}
