//go:build e2e && linux

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"droid-acp/internal/testing/modelserver"
)

// situation is a state of the system, faulty or not, and the doctor's report on it.
type situation struct {
	prepare func(t *testing.T, h home)
	old     bool   // an old droid is tested, too
	fails   string // the name of the check that fails, "" for none
	says    string // in the words of the table, in one line
	// heals follows a remedy that is not a command; nil if there is none.
	heals func(t *testing.T, h home, screen string)
	well  bool // nothing fails afterwards
}

// Commands are in backticks, on one line.
var printedCommand = regexp.MustCompile("`([^`\n-][^`\n]*)`")

// at matches a position in a file.
var at = regexp.MustCompile(`line (\d+), column (\d+)`)

func (h home) setUp(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, ".factory", "settings.json"), []byte(text), 0o600))
}

// replaceAt replaces a text at the position that the doctor reports.
func replaceAt(t *testing.T, file, screen, old, with string) {
	t.Helper()
	m := at.FindStringSubmatch(inOneLine(screen))
	require.NotNil(t, m, screen)
	var line, column int
	_, err := fmt.Sscan(m[1]+" "+m[2], &line, &column)
	require.NoError(t, err)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	lines := strings.Split(string(data), "\n")
	rest, found := strings.CutPrefix(lines[line-1][column-1:], old)
	require.True(t, found, "%s is at %d, %d of %s", old, line, column, data)
	lines[line-1] = lines[line-1][:column-1] + with + rest
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
}

// situations are the states in which a user may run the doctor.
func situations(url string) map[string]situation {
	model := `{"model": "scripted", "displayName": "Scripted", "provider": "generic-chat-completion-api", "apiKey": "k", "baseUrl": "` + url + `"}`
	return map[string]situation{
		"no droid": {
			prepare: func(t *testing.T, h home) { require.NoError(t, os.Remove(h.droid)) },
			fails:   "droid found", says: "droid found: droid not found:", well: true, // npm installs it
		},
		"no login": {
			prepare: func(t *testing.T, h home) { h.setUp(t, "{}") },
			fails:   "login", says: "login: droid is not logged in.",
		},
		"own model as default": {prepare: func(*testing.T, home) {}, says: "Nothing was found that stops you.", well: true},
		"own model not as default": {
			prepare: func(t *testing.T, h home) { h.setUp(t, `{"customModels": [`+model+`]}`) },
			old:     true, fails: "login", says: "smoke --model custom:Scripted-0 'Say hello.'`",
		},
		"broken settings": {
			prepare: func(t *testing.T, h home) {
				h.setUp(t, "{\n  // mine\n  \"customModels\": [\n    "+model+",\n  ],\n  \"sessionDefaultSettings\": {\"model\": \"custom:Scripted-0\"}\n}")
			},
			fails: "settings, own models", says: "there is nothing behind this comma.", well: true,
			heals: func(t *testing.T, h home, screen string) {
				replaceAt(t, filepath.Join(h.dir, ".factory", "settings.json"), screen, ",", "")
			},
		},
		"unreadable home": {
			prepare: func(t *testing.T, h home) { require.NoError(t, os.Chmod(h.dir, 0)) },
			fails:   "home directory", says: "cannot be used: permission denied.", well: true,
		},
		"store directory of another user": {
			prepare: func(t *testing.T, h home) {
				dir := filepath.Join(h.dir, ".factory", "sessions", strings.ReplaceAll(h.work, "/", "-"))
				require.NoError(t, os.MkdirAll(dir, 0o500)) // root without the right to write everywhere is no owner either
			},
			fails: "own files", says: "cannot be written: permission denied.", well: true,
		},
	}
}

// In each situation the doctor names one cause, its lines fit the terminal, and its remedy helps.
func TestDoctorSituations(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, base home) {
		for name, s := range situations(model.URL()) {
			if base.version == oldDroid && !s.old {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				h := doctorHome(t, newHome(t, base.version, model.URL())).installDroid(t)
				h.tools(t)
				t.Cleanup(func() { _ = os.Chmod(h.dir, 0o700) })
				s.prepare(t, h)
				screen := h.situation(t, s, 80)
				if !testing.Short() {
					h.situation(t, s, 120)
				}
				if s.heals != nil {
					s.heals(t, h, screen)
				}
				for _, m := range printedCommand.FindAllStringSubmatch(screen, -1) {
					h.runPrinted(t, m[1])
				}
				if s.well && s.fails != "" {
					healed, code := h.doctorUnprivileged(t, 80)
					require.Zero(t, code, healed)
				}
			})
		}
	})
}

// tools provides what printed commands need: droid-acp, npm, which installs droid, and sudo, the latter two as scripts.
func (h home) tools(t *testing.T) {
	t.Helper()
	bin := filepath.Join(h.dir, "..", "bin") // readable where the home is not
	require.NoError(t, os.MkdirAll(bin, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(bin) })
	for name, script := range map[string]string{
		"npm":  `[ "$1" = prefix ] && { echo "$HOME/.local"; exit; }; [ "$*" = "install -g droid" ] && ln -sf "` + programs.Droids[h.version] + `" "$HOME/.local/bin/droid"`,
		"sudo": `exec "$@"`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	for _, name := range []string{"sh", "chmod", "chown", "id", "ln"} {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(bin, name)))
	}
	h.env[1] = "PATH=" + bin
}

// doctorUnprivileged runs the doctor without root's right to read and write everything.
func (h home) doctorUnprivileged(t *testing.T, columns int, args ...string) (screen string, code int) {
	t.Helper()
	cmd := exec.Command(programs.Agent, append([]string{"doctor"}, args...)...)
	cmd.Env, cmd.Dir = append(h.env, fmt.Sprintf("COLUMNS=%d", columns), "PWD="+h.work), h.work
	if _, err := os.Stat(h.work); err != nil {
		cmd.Dir = "/"
	}
	out, err := unprivileged(cmd)
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit), err)
	return out, cmd.ProcessState.ExitCode()
}

// unprivileged runs a command without root's rights to read, write and give away everything.
func unprivileged(cmd *exec.Cmd) (output string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with what it lost
		for _, right := range []uintptr{unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH} {
			if err = unix.Prctl(unix.PR_CAPBSET_DROP, right, 0, 0, 0); err != nil && os.Geteuid() == 0 {
				return
			}
		}
		var out []byte
		out, err = cmd.CombinedOutput()
		output = string(out)
	}()
	<-done
	return output, err
}

// situation checks the doctor's report.
func (h home) situation(t *testing.T, s situation, columns int) (screen string) {
	t.Helper()
	screen, code := h.doctorUnprivileged(t, columns)
	t.Logf("%d columns, exit code %d\n%s", columns, code, screen)
	require.Contains(t, inOneLine(screen), s.says)
	if s.fails == "" {
		require.Zero(t, code)
		require.NotContains(t, screen, "FAILURE")
	} else {
		require.Equal(t, 1, code)
		require.Contains(t, screen, "\nFAILURE  "+s.fails+":")
		require.Equal(t, 1, strings.Count(screen, "FAILURE"), "one cause, one line")
	}
	for line := range strings.Lines(screen) {
		longest := 0
		for word := range strings.FieldsSeq(printedCommand.ReplaceAllStringFunc(line, func(c string) string { return strings.ReplaceAll(c, " ", "_") })) {
			longest = max(longest, utf8.RuneCountInString(word))
		}
		if longest <= columns-9 {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), columns, line)
		}
	}
	return screen
}

// runPrinted runs a command as printed, in the directory where it was printed. Commands that need a network or input end by themselves, and
// report that.
func (h home) runPrinted(t *testing.T, line string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Env, cmd.Dir = h.env, h.work
	if _, err := os.Stat(h.work); err != nil {
		cmd.Dir = "/"
	}
	out, _ := unprivileged(cmd)
	code := cmd.ProcessState.ExitCode()
	t.Logf("$ %s\n%sexit code %d", line, out, code)
	if strings.Contains(line, " login") {
		require.Equal(t, 1, code, "there is no network")
		return
	}
	require.Zero(t, code)
}

// A full disk is one failure, whatever files are on it.
func TestDoctorOnAFullDisk(t *testing.T) {
	t.Parallel()
	h := doctorHome(t, newHome(t, newDroid, "http://127.0.0.1:9/v1")).installDroid(t)
	script := `set -e
mount -t tmpfs -o size=4m none "$HOME/tmp"
cp -r "$HOME/.factory" "$HOME/tmp/.factory"
mkdir -p "$HOME/tmp/tmp"
export HOME="$HOME/tmp" TMPDIR="$HOME/tmp/tmp"
dd if=/dev/zero of="$HOME/full" bs=64k 2>/dev/null || true
COLUMNS=120 ` + programs.Agent + ` doctor || echo "so it is"
` + programs.Agent + ` doctor || echo "exit code $?"
rm "$HOME/full"
` + programs.Agent + ` doctor && echo "exit code 0"`
	cmd := exec.Command("unshare", "-m", "sh", "-c", script)
	cmd.Env, cmd.Dir = append(h.env, "DROID_ACP_DROID="+h.droid), h.work
	cmd.Env[1] = "PATH=" + os.Getenv("PATH")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	t.Log(string(out))
	_, rest, found := strings.Cut(inOneLine(string(out)), "so it is")
	require.True(t, found)
	full, free, found := strings.Cut(rest, "exit code 1")
	require.True(t, found)
	require.Equal(t, 1, strings.Count(full, "FAILURE"), full)
	require.Contains(t, full, "cannot be written: no space left on device. → Make room on the disk")
	require.Contains(t, free, "exit code 0")
}

// A doctor that is interrupted does not report that all is well.
func TestDoctorEndedHalfWay(t *testing.T) {
	t.Parallel()
	h := doctorHome(t, newHome(t, newDroid, "http://127.0.0.1:9/v1")).installDroid(t)
	for _, asked := range []string{"COLUMNS=80", "COLUMNS=120", "--json"} {
		cmd, asJSON := exec.Command(programs.Agent, "doctor"), asked == "--json"
		cmd.Env, cmd.Dir = append(h.env, asked), h.work
		if asJSON {
			cmd.Args, cmd.Env = append(cmd.Args, asked), h.env
		}
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		var screen bytes.Buffer
		in := bufio.NewReader(io.TeeReader(out, &screen))
		for !asJSON {
			line, err := in.ReadString('\n')
			require.NoError(t, err)
			if strings.HasPrefix(line, "ok       droid found") {
				break
			}
		}
		awaitDroid(t, h)
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		_, err = io.Copy(io.Discard, in)
		require.NoError(t, err)
		require.Error(t, cmd.Wait())
		require.Equal(t, 1, cmd.ProcessState.ExitCode())
		t.Log(screen.String())
		if !asJSON {
			require.Contains(t, screen.String(), "checks were not made.")
			require.NotContains(t, screen.String(), "Nothing was found")
			continue
		}
		var report struct {
			OK     bool
			NotRun []string
		}
		require.NoError(t, json.Unmarshal(screen.Bytes(), &report))
		require.False(t, report.OK)
		require.Contains(t, report.NotRun, "session")
	}
}

// awaitDroid waits until the home's droid runs as an agent.
func awaitDroid(t *testing.T, h home) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		for _, p := range h.processes(t) {
			if p.droid && strings.Contains(p.command, "stream-jsonrpc") {
				return
			}
		}
		require.True(t, time.Now().Before(deadline), "no droid was started")
	}
}

// The doctor's droid looks up no name, and leaves nothing in the home.
func TestDoctorLeavesNothing(t *testing.T) {
	eachVersion(t, func(t *testing.T, _ *modelserver.Server, h home) {
		h = doctorHome(t, h).installDroid(t)
		require.NoError(t, os.WriteFile(filepath.Join(h.dir, ".factory", "auth.v2.file"), []byte("no login"), 0o600))
		names, looked := nameServer(t)
		script := `mount --bind ` + names + ` /etc/resolv.conf && exec ` + programs.Agent + ` doctor`
		before := h.inHome(t)
		cmd := exec.Command("unshare", "-m", "sh", "-c", script)
		cmd.Env, cmd.Dir = append(h.env, "FACTORY_API_KEY=none"), h.work
		cmd.Env[1] = "PATH=" + os.Getenv("PATH")
		out, _ := cmd.CombinedOutput() // a machine that is busy may be too slow for it
		t.Log(string(out))
		require.Empty(t, looked())
		var left []string
		for _, path := range h.inHome(t) {
			if !strings.Contains("\n"+strings.Join(before, "\n")+"\n", "\n"+path+"\n") {
				left = append(left, path)
			}
		}
		if h.version == oldDroid {
			require.Equal(t, []string{".factory/logs/console.log"}, left)
			return
		}
		require.Empty(t, left)
	})
}

// inHome returns the files in the home.
func (h home) inHome(t *testing.T) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(h.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			path, err = filepath.Rel(h.dir, path)
			all = append(all, path)
		}
		return err
	}))
	return all
}

// nameServer answers no query and records the names. names is a resolv.conf.
func nameServer(t *testing.T) (names string, looked func() []string) {
	t.Helper()
	var server net.PacketConn
	address, err := "", errors.New("no address")
	for i := 53; err != nil && i < 63; i++ { // another test may have one
		address = fmt.Sprintf("127.0.0.%d", i)
		server, err = net.ListenPacket("udp", address+":53")
	}
	require.NoError(t, err)
	var asked []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for buf := make([]byte, 4096); ; {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			var name []string
			for i := 12; i < n && buf[i] != 0; i += 1 + int(buf[i]) {
				name = append(name, string(buf[i+1:i+1+int(buf[i])]))
			}
			asked = append(asked, strings.Join(name, "."))
			buf[2], buf[3] = 0x81, 0x83 // there is no such name
			_, _ = server.WriteTo(buf[:n], from)
		}
	}()
	t.Cleanup(func() { _ = server.Close() })
	names = filepath.Join(t.TempDir(), "resolv.conf")
	require.NoError(t, os.WriteFile(names, []byte("nameserver "+address+"\n"), 0o644))
	return names, func() []string {
		_ = server.Close()
		<-done
		return asked
	}
}
