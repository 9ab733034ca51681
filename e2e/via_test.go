//go:build e2e && linux

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"droid-acp/internal/testing/modelserver"
)

// viaEnv makes the agents of all tests run at the far side of "droid-acp via": in a mount namespace in which the test's directory has
// another name, and its own name is an empty directory. The model's text about files there uses the names there. With "mount" the relay's
// command enters the namespace, with "ssh" it is ssh, and an SSH server is in there.
//
//	make e2e-via
//
// runs the tests that call alsoFar. The others check names in texts, or create far side files here.
const viaEnv = "DROID_ACP_E2E_VIA"

// far are the names of the tests that have called alsoFar.
var far sync.Map

// alsoFar marks a test that also passes with the agent at the far side.
func alsoFar(t testing.TB) { far.Store(topTest(t), true) }

func topTest(t testing.TB) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	return name
}

// skipNearOnly skips a test that has not called alsoFar if agents run at the far side.
func skipNearOnly(t testing.TB) {
	if _, ok := far.Load(topTest(t)); !ok && os.Getenv(viaEnv) != "" {
		t.Skip("it does not say that it holds at the far side")
	}
}

// farEnv makes this test binary a part of the way to the far side; it has a farSide as JSON.
const farEnv = "DROID_ACP_E2E_FAR"

// farSide is a place where the directory Here is called There.
type farSide struct {
	Here, There string
	Record      string // a file with what the far side was sent
	SSH         string // the directory of the server's files, "" without one
	Enter       bool   // enter the namespace; otherwise record, and run what does
}

// farName returns the name of a test's directory at the far side.
func farName(dir string) string {
	return "/mnt/far" + strings.ReplaceAll(strings.TrimPrefix(dir, os.TempDir()), "/", "-") + "/home"
}

// agent returns the command of an agent of this home.
func (h home) agent(args ...string) *exec.Cmd {
	cmd := exec.Command(programs.Agent, args...)
	cmd.Env, cmd.Dir = h.env, h.work
	if h.far == "" {
		return cmd
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	side, there := farSide{Here: h.dir, There: h.far, Record: h.record()}, []string{programs.Agent}
	if os.Getenv(viaEnv) == "ssh" {
		side.SSH = h.dir + ".ssh"
		there = h.ssh(self, side.SSH)
		for i, arg := range args {
			args[i] = "'" + side.there(arg) + "'"
		}
	}
	text, _ := json.Marshal(side) // texts always encode
	cmd.Args = append(append([]string{programs.Agent, "via", "--map", h.dir + "=" + h.far, "--", self}, there...), args...)
	cmd.Env = append(h.env[:len(h.env):len(h.env)], farEnv+"="+string(text))
	return cmd
}

// ssh returns the command of a program at the far side with an SSH server.
func (h home) ssh(self, files string) []string {
	command := []string{"ssh", "-F", "none", "-i", files + "/key", "-o", "UserKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR",
		"-o", "ProxyCommand='" + self + "'", "far@far", "cd", "'" + farSide{Here: h.dir, There: h.far}.there(h.work) + "'", "&&", "exec", "env"}
	for _, v := range h.env {
		command = append(command, "'"+farSide{Here: h.dir, There: h.far}.there(v)+"'")
	}
	return append(command, programs.Agent)
}

// sshd is where servers of SSH are.
const sshd = "/usr/sbin/sshd"

// makeSSH makes the files of a server.
func (h home) makeSSH(t testing.TB) {
	t.Helper()
	if _, err := os.Stat(sshd); err != nil {
		t.Skip(err)
	}
	dir := h.dir + ".ssh"
	require.NoError(t, os.Mkdir(dir, 0o700))
	for _, key := range []string{"key", "host"} {
		require.NoError(t, command(dir, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key))
	}
	for name, text := range map[string]string{
		"config": "HostKey " + dir + "/host\nAuthorizedKeysFile " + dir + "/key.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n",
		"passwd": "root:x:0:0::/root:/bin/sh\nsshd:x:1001:1001::/run/sshd:/bin/false\nfar:x:1000:1000::" + h.far + ":/bin/sh\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

// record returns the file with what the far sides of this home were sent.
func (h home) record() string { return h.dir + ".sent" }

// isHomeOf reports whether an environment belongs to a process of this home.
func (h home) isHomeOf(env string) bool {
	has := func(dir string) bool { return dir != "" && strings.Contains("\x00"+env, "\x00HOME="+dir+"\x00") }
	return has(h.dir) || has(h.far)
}

// isFarSide reports whether an environment belongs to the entry of a far side.
func isFarSide(env string) bool { return strings.Contains("\x00"+env, "\x00"+farEnv+"=") }

// checkFarSide checks that what the far side was sent has no local path in a path field.
func (h home) checkFarSide(t testing.TB) {
	if h.far == "" {
		return
	}
	sent, err := os.ReadFile(h.record())
	require.NoError(t, err)
	for line := range strings.Lines(string(sent)) {
		if found := typedPath(line, h.dir); found != "" {
			t.Errorf("the far side was sent a path of here (%s): %.600s", found, line)
		}
	}
}

// typedPath returns a value in a line that names this directory in a field of ACP for a path or a URI.
func typedPath(line, dir string) string {
	var v any
	if dir == "" || !strings.Contains(line, dir) || json.Unmarshal([]byte(line), &v) != nil {
		return ""
	}
	return pathIn(v, "", dir)
}

// pathIn searches the directory in fields that have paths. Fields below others with these names belong to droid, or are text.
func pathIn(v any, name, dir string) string {
	switch v := v.(type) {
	case string:
		switch name {
		case "path", "uri", "cwd", "additionalDirectories", "command":
			if rest, ok := strings.CutPrefix(strings.TrimPrefix(v, "file://"), dir); ok && (rest == "" || rest[0] == '/') {
				return name + " " + v
			}
		}
	case []any:
		for _, element := range v {
			if found := pathIn(element, name, dir); found != "" {
				return found
			}
		}
	case map[string]any:
		for key, value := range v {
			switch key {
			case "rawInput", "rawOutput", "messages", "terminal-auth":
				continue
			}
			if found := pathIn(value, key, dir); found != "" {
				return found
			}
		}
	}
	return ""
}

// playFar is a part of the way to the far side.
func playFar() error {
	var side farSide
	if err := json.Unmarshal([]byte(os.Getenv(farEnv)), &side); err != nil {
		return err
	}
	if side.Enter {
		return side.enter()
	}
	record, err := os.OpenFile(side.Record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	side.Enter = true
	inside, err := json.Marshal(side)
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Env = append(os.Environ(), farEnv+"="+string(inside))
	if side.SSH == "" {
		cmd = exec.Command("/proc/self/exe", os.Args[1:]...)
		cmd.Env = append(os.Environ(), farEnv+"="+string(inside))
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.MultiWriter(record, stdin), os.Stdin)
		_ = stdin.Close()
	}()
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) {
		os.Exit(max(1, exit.ExitCode()))
	} else if err != nil {
		return err
	}
	return nil
}

// enter creates the namespace and executes the program of the arguments in it, or the server.
func (s farSide) enter() error {
	runtime.LockOSThread() // the namespace is the thread's
	steps := []func() error{
		func() error { return unix.Unshare(unix.CLONE_NEWNS) },
		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") },
		func() error { return unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "") },
		func() error { return os.MkdirAll(s.There, 0o755) },
		func() error { return unix.Mount(s.Here, s.There, "", unix.MS_BIND|unix.MS_REC, "") },
		func() error { return unix.Mount("tmpfs", s.Here, "tmpfs", 0, "") },
	}
	if s.SSH != "" {
		steps = append(steps, func() error { return unix.Mount(s.SSH+"/passwd", "/etc/passwd", "", unix.MS_BIND, "") })
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("making the far side: %w", err)
		}
	}
	if s.SSH != "" { // as a user other than root, who could not change to others here
		args := []string{"unshare", "-U", "--map-user=1000", "--map-group=1000", sshd, "-i", "-f", s.SSH + "/config"}
		return unix.Exec("/usr/bin/unshare", args, os.Environ())
	}
	var env, args []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, farEnv+"=") {
			env = append(env, s.there(v))
		}
	}
	for _, arg := range os.Args[1:] {
		args = append(args, s.there(arg))
	}
	work, err := os.Getwd()
	if err == nil {
		err = os.Chdir(s.there(work))
	}
	if err != nil {
		return err
	}
	return unix.Exec(args[0], args, env)
}

// there returns a text with the names of the far side.
func (s farSide) there(text string) string { return strings.ReplaceAll(text, s.Here, s.There) }

// To the editor a session at the far side looks like a local one.
func TestVia(t *testing.T) {
	alsoFar(t)
	for _, way := range []string{"mount", "ssh"} {
		t.Run(way, func(t *testing.T) {
			t.Setenv(viaEnv, way)
			model := newModel(t)
			h := newHome(t, newDroid, model.URL())
			made := filepath.Join(h.work, "made.txt")
			model.On("make", modelserver.Step{Tools: []modelserver.ToolCall{{ID: "make", Name: "Create", Args: map[string]any{"file_path": made, "content": "made\n"}}}},
				modelserver.Step{Text: "Made."})
			c := startAgent(t, h).onPermission(allowOnce)
			s := c.open(h)
			end := s.prompt("make").done()
			require.Equal(t, []string{"completed"}, end.tools())
			require.FileExists(t, made)
			asked, err := json.Marshal(c.asked())
			require.NoError(t, err)
			require.Contains(t, string(asked), `"path":"`+made+`"`)
			var list struct {
				Sessions []struct{ SessionID, CWD string }
			}
			c.mustCall("session/list", map[string]any{"cwd": h.work}, &list)
			require.Len(t, list.Sessions, 1)
			require.Equal(t, h.work, list.Sessions[0].CWD)
			_, refused := c.call("session/new", map[string]any{"cwd": "/etc", "mcpServers": []any{}})
			require.NotNil(t, refused)
			require.Equal(t, -32602, refused.Code)
			require.Contains(t, refused.Message, `cwd is "/etc", which is outside of every directory that the far side has`)
		})
	}
}

// The program built by `make build` copies itself to the far side of SSH, and finds itself there the next time.
func TestViaCopy(t *testing.T) {
	alsoFar(t)
	t.Setenv(viaEnv, "ssh")
	h := newHome(t, newDroid, newModel(t).URL())
	copied, there := filepath.Join(h.dir, "tools", "droid-acp"), h.far+"/tools/droid-acp"
	start := func() os.FileInfo {
		cmd := h.agent()
		cmd.Args = slices.Concat(cmd.Args[:2], []string{"--copy"}, cmd.Args[2:len(cmd.Args)-1], []string{there})
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n")
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		require.NoError(t, err, said.String())
		require.Contains(t, string(out), `"agentInfo":{"name":"droid-acp"`, said.String())
		info, err := os.Stat(copied)
		require.NoError(t, err)
		return info
	}
	first := start()
	want, err := os.ReadFile(programs.Agent)
	require.NoError(t, err)
	got, err := os.ReadFile(copied)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))
	require.True(t, os.SameFile(first, start()), "it is not copied again")
}
