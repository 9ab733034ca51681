package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// installNpm installs packages of the release, by their suffixes, without a network
// and with nothing in HOME. It returns the launcher.
func installNpm(t *testing.T, d dist, suffixes ...string) (launcher string) {
	t.Helper()
	needs(t, "npm", "node")
	prefix := t.TempDir()
	r := &release{stamp: stamp{Version: d.version}}
	args := []string{"install", "--offline", "--no-audit", "--no-fund", "--prefix", prefix}
	for _, suffix := range suffixes {
		args = append(args, filepath.Join(d.dir, r.npmFile(suffix)))
	}
	succeed(t, bare(t, "npm", args...))
	launcher, err := filepath.EvalSymlinks(filepath.Join(prefix, "node_modules", ".bin", "droid-acp"))
	require.NoError(t, err)
	return launcher
}

// eachNode runs a test with the node in PATH, which runs the program as a child, and with one that can become the program (22.15 or newer)
// if the end-to-end tests have fetched one.
func eachNode(t *testing.T, test func(t *testing.T, node string)) {
	node, err := exec.LookPath("node")
	require.NoError(t, err)
	nodes := []string{node}
	if cache, err := os.UserCacheDir(); err == nil {
		found, _ := filepath.Glob(filepath.Join(cache, "droid-acp", "e2e", "*", "node_modules", "node-linux-*", "bin", "node"))
		nodes = append(nodes, found...)
	}
	seen := make(map[string]bool)
	for _, node := range nodes {
		version, err := exec.Command(node, "--version").Output()
		require.NoError(t, err)
		if seen[string(version)] {
			continue
		}
		seen[string(version)] = true
		t.Run(strings.TrimSpace(string(version)), func(t *testing.T) { test(t, node) })
	}
}

// succeedNot runs a command that must end with an exit code, and returns what it wrote.
func succeedNot(t *testing.T, code int, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, string(out))
	require.Equal(t, code, exit.ExitCode(), string(out))
	return string(out)
}

func TestDistNpmPackagesAreWhatNpmWouldPack(t *testing.T) {
	d := openDist(t)
	needs(t, "npm")
	r := &release{stamp: stamp{Version: d.version}}
	for _, suffix := range []string{"", "-linux-arm64", "-win32-x64"} {
		file := filepath.Join(d.dir, r.npmFile(suffix))
		dir := t.TempDir()
		unpackTo(t, file, dir)
		require.Contains(t, string(d.read(t, filepath.Join(dir, "package", "package.json"))), `"access": "public"`)
		var packs []struct {
			Name, Version string
			Files         []struct{ Path string }
		}
		cmd := bare(t, "npm", "pack", "--dry-run", "--json", "--loglevel=error")
		cmd.Dir = filepath.Join(dir, "package")
		out, err := cmd.Output()
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(out, &packs))
		require.Len(t, packs, 1)
		require.Equal(t, d.version, packs[0].Version)
		require.Regexp(t, "^@[^/]+/droid-acp"+suffix+"$", packs[0].Name, "the name without a scope is another project's")
		var paths []string
		for _, f := range packs[0].Files {
			paths = append(paths, "package/"+f.Path)
		}
		var ours []string
		for name := range unpack(t, file) {
			ours = append(ours, name)
		}
		require.ElementsMatch(t, paths, ours)
	}
}

func TestDistNpmInstallRunsTheProgram(t *testing.T) {
	d, here := openDist(t), needsLinux(t)
	launcher := installNpm(t, d, "", npmSuffix(here))
	eachNode(t, func(t *testing.T, node string) {
		require.Contains(t, succeed(t, bare(t, node, launcher, "--version")), "droid-acp "+d.version+" (commit ")
		require.Contains(t, succeed(t, bare(t, node, launcher, "smoke", "--demo", "--permissions", "allow", "Add a greeting")), "Add a greeting")
		doctor := succeedNot(t, 1, bare(t, node, launcher, "doctor"))
		require.Regexp(t, `FAILURE +droid found`, doctor)
		require.Regexp(t, `ok +demo through the bridge`, doctor)
		require.Contains(t, succeedNot(t, 2, bare(t, node, launcher, "--no-such-flag")), "no-such-flag")
		requireSignIn(t, launcher, filepath.Dir(launcher))
	})
}

func TestDistNpmSaysWhatIsMissing(t *testing.T) {
	d := openDist(t)
	launcher := installNpm(t, d, "")
	out := succeedNot(t, 1, bare(t, "node", launcher, "--version"))
	require.Contains(t, out, "/droid-acp-linux-")
	require.Contains(t, out, "--omit=optional")

	riscv := filepath.Join(t.TempDir(), "riscv.js")
	require.NoError(t, os.WriteFile(riscv, []byte(`Object.defineProperty(process, "arch", { value: "riscv64" });`), 0o644))
	out = succeedNot(t, 1, bare(t, "node", "--require", riscv, launcher, "--version"))
	require.Contains(t, out, "there is no program for linux riscv64; there is one for darwin arm64, ")
}

func TestDistNpmSaysWhyTheProgramCannotBeStarted(t *testing.T) {
	d, here := openDist(t), needsLinux(t)
	launcher := installNpm(t, d, "", npmSuffix(here))
	program := filepath.Join(filepath.Dir(launcher), "..", "..", "droid-acp"+npmSuffix(here), "bin", "droid-acp")
	require.NoError(t, os.Chmod(program, 0o644))
	eachNode(t, func(t *testing.T, node string) {
		require.Contains(t, succeedNot(t, 1, bare(t, node, launcher, "--version")), "cannot be started")
	})
}

// serving is a program that has answered initialize.
type serving struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
}

func serve(t *testing.T, name string, args ...string) *serving {
	t.Helper()
	s := &serving{cmd: bare(t, name, args...)}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer stderr.Close()
	s.cmd.Stderr = stderr
	s.stdin, err = s.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	s.stdout = bufio.NewReader(stdout)
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() { s.cmd.Process.Kill() })
	_, err = io.WriteString(s.stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`+"\n")
	require.NoError(t, err)
	line, err := s.stdout.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, `"agentInfo"`)
	return s
}

// end waits until nobody holds stdout any more, so that launcher and program have
// both ended, and returns how the launcher did.
func (s *serving) end(t *testing.T) string {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, s.stdout)
		ended <- err
	}()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		require.NoError(t, syscall.Kill(-s.cmd.Process.Pid, syscall.SIGQUIT)) // a Go program then tells what its goroutines do
		select {
		case <-ended:
		case <-time.After(5 * time.Second): // somebody else holds stdout
		}
		said, err := os.ReadFile(s.cmd.Stderr.(*os.File).Name())
		require.Fail(t, "still running after 20 s", "its group at SIGQUIT: %s (%v)", said, err)
	}
	err := s.cmd.Wait()
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit))
	return s.cmd.ProcessState.String()
}

// TestDistNpmLauncherPassesSignalsOn: a signal to the launcher ends the program, and
// the launcher ends as the program does without one.
func TestDistNpmLauncherPassesSignalsOn(t *testing.T) {
	d, here := openDist(t), needsLinux(t)
	launcher := installNpm(t, d, "", npmSuffix(here))
	program := filepath.Join(filepath.Dir(launcher), "..", "..", "droid-acp"+npmSuffix(here), "bin", "droid-acp")
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		alone := serve(t, program)
		require.NoError(t, alone.cmd.Process.Signal(signal))
		want := alone.end(t)
		t.Run(signal.String(), func(t *testing.T) {
			eachNode(t, func(t *testing.T, node string) {
				s := serve(t, node, launcher)
				require.NoError(t, s.cmd.Process.Signal(signal))
				require.Equal(t, want, s.end(t))
			})
		})
	}
}

// TestDistNpmProgramEndsWithAKilledLauncher: editors kill what they started, and close
// its stdin.
func TestDistNpmProgramEndsWithAKilledLauncher(t *testing.T) {
	d, here := openDist(t), needsLinux(t)
	launcher := installNpm(t, d, "", npmSuffix(here))
	eachNode(t, func(t *testing.T, node string) {
		s := serve(t, node, launcher)
		require.NoError(t, s.cmd.Process.Kill())
		require.NoError(t, s.stdin.Close())
		require.Equal(t, "signal: killed", s.end(t))
	})
	eachNode(t, func(t *testing.T, node string) {
		s := serve(t, node, launcher)
		require.NoError(t, s.stdin.Close())
		require.Equal(t, "exit status 0", s.end(t))
	})
}

// TestDistNpmLauncherDiesOfTheProgramsSignal: who started the launcher sees that the
// program was killed.
func TestDistNpmLauncherDiesOfTheProgramsSignal(t *testing.T) {
	d, here := openDist(t), needsLinux(t)
	launcher := installNpm(t, d, "", npmSuffix(here))
	program := filepath.Join(filepath.Dir(launcher), "..", "..", "droid-acp"+npmSuffix(here), "bin", "droid-acp")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nkill -TERM $$\n"), 0o755))
	eachNode(t, func(t *testing.T, node string) {
		require.ErrorContains(t, bare(t, node, launcher).Run(), "signal: terminated")
	})
}
