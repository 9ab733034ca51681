//go:build e2e && linux

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// doctorHome returns a home whose droid is where droid-acp looks for it.
func doctorHome(t *testing.T, h home) home {
	t.Helper()
	real, err := filepath.EvalSymlinks(h.dir)
	require.NoError(t, err)
	h.dir = real
	bin := filepath.Join(h.dir, "path")
	require.NoError(t, os.MkdirAll(bin, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(h.dir, ".local", "bin"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(h.dir, "tmp"), 0o755))
	require.NoError(t, os.Symlink(programs.Agent, filepath.Join(bin, "droid-acp"))) // so that commands are printed as the document has them
	for _, name := range []string{"sh", "npm"} {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(bin, name)))
	}
	h.env = []string{"HOME=" + h.dir, "PATH=" + bin, "TMPDIR=" + filepath.Join(h.dir, "tmp"), "FACTORY_DROID_AUTO_UPDATE_ENABLED=false"}
	h.droid = ""
	return h
}

// installDroid puts a droid there.
func (h home) installDroid(t *testing.T) home {
	t.Helper()
	h.droid = filepath.Join(h.dir, ".local", "bin", "droid")
	if os.Link(programs.Droids[h.version], h.droid) == nil {
		return h
	}
	from, err := os.Open(programs.Droids[h.version])
	require.NoError(t, err)
	defer from.Close()
	to, err := os.OpenFile(h.droid, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, errors.Join(err, to.Close()))
	return h
}

// doctor runs the doctor and checks that nothing of it remains.
func (h home) doctor(t *testing.T, args ...string) (screen string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(programs.Agent, append([]string{"doctor"}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = h.env, h.work, &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit)
	}
	require.Empty(t, stderr.String())
	if h.droid != "" {
		h.awaitNoDroid(t, 10*time.Second)
	}
	sessions, err := filepath.Glob(filepath.Join(h.dir, ".factory", "sessions", "*"))
	require.NoError(t, err)
	require.Empty(t, sessions, "its session is gone, with the directory of its project")
	left, err := filepath.Glob(filepath.Join(h.dir, "tmp", "droid-acp-*"))
	require.NoError(t, err)
	require.Empty(t, left)
	return stdout.String(), cmd.ProcessState.ExitCode()
}

// sameScreen compares the doctor's output with a screen in the tests of internal/cli/doctor.
func sameScreen(t *testing.T, name, got string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("..", "internal", "cli", "doctor", "testdata", name+".golden"))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(got, "\n")
	require.Equal(t, string(want), "droid-acp VERSION, linux/amd64\n"+strings.ReplaceAll(rest, "linux/"+runtime.GOARCH, "linux/amd64"))
}

// inOneLine returns a text of the doctor's table before wrapping.
func inOneLine(screen string) string { return strings.Join(strings.Fields(screen), " ") }

// details returns the text of an error that an editor shows.
func details(t *testing.T, err *rpcError) string {
	t.Helper()
	require.NotNil(t, err)
	if err.Data == nil {
		return err.Message
	}
	var data map[string]string
	require.NoError(t, json.Unmarshal(err.Data, &data))
	require.Len(t, data, 1, "Zed shows the text when it is alone")
	return data["details"]
}

// The doctor and an editor report the same if droid is missing.
func TestDoctorWithoutDroid(t *testing.T) {
	t.Parallel()
	h := doctorHome(t, newHome(t, newDroid, "http://127.0.0.1:9/v1"))
	require.NoError(t, os.Remove(filepath.Join(h.dir, ".factory", "settings.json")))
	screen, code := h.doctor(t)
	require.Equal(t, 1, code)
	sameScreen(t, "missing", screen)

	c := startAgent(t, home{dir: h.dir, work: h.work, droid: filepath.Join(h.dir, "no-such-droid"), env: h.env, version: newDroid})
	words := details(t, c.open(h).prompt("go").end(turnLimit).Err)
	screen, _ = h.doctor(t, "--droid", filepath.Join(h.dir, "no-such-droid"))
	for _, sentence := range strings.SplitAfter(strings.ReplaceAll(words, h.dir+"/", "~/"), ". ") {
		require.Contains(t, inOneLine(screen), strings.TrimSpace(sentence))
	}
}

// Without a login and a custom model, an editor's prompt fails with the doctor's text.
func TestDoctorWithoutLogin(t *testing.T) {
	eachVersion(t, func(t *testing.T, _ *modelserver.Server, h home) {
		h = doctorHome(t, h).installDroid(t)
		require.NoError(t, os.Remove(filepath.Join(h.dir, ".factory", "settings.json")))
		screen, code := h.doctor(t)
		require.Equal(t, 1, code, screen)
		require.Contains(t, screen, "~/.local/bin/droid, version "+h.version)
		if h.version == latestDroid {
			sameScreen(t, "loggedout", screen)
		}
		end := startAgent(t, h).open(h).prompt("go").end(failureLimit)
		words := strings.TrimPrefix(details(t, end.Err), "Authentication required: ")
		require.Equal(t, codeAuth, end.Err.Code)
		said, _, found := strings.Cut(words, " Afterwards send")
		require.True(t, found, words)
		for _, sentence := range strings.SplitAfter(said, ". ") {
			require.Contains(t, inOneLine(screen), strings.TrimSpace(sentence))
		}
	})
}

func TestDoctorWithACustomModel(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		h = doctorHome(t, h).installDroid(t)
		screen, code := h.doctor(t)
		require.Equal(t, 0, code, screen)
		if h.version == latestDroid {
			sameScreen(t, "own", screen)
		}
		require.Contains(t, inOneLine(screen), "New sessions start with your own model Scripted.")
		require.Empty(t, model.Requests(), "the doctor spends nothing")

		screen, code = h.doctor(t, "--model", "no-such-model", "--json")
		require.Equal(t, 1, code, "the model is none that droid offers")
		var report struct {
			OK     bool
			Checks []struct{ ID, Result, Found string }
		}
		require.NoError(t, json.Unmarshal([]byte(screen), &report))
		require.False(t, report.OK)
		for _, check := range report.Checks {
			require.Equal(t, check.ID == "session", check.Result == "failure", check.Found)
		}
	})
}

// acpx, a client from npm, shows the doctor's text.
func TestDoctorTextInACPX(t *testing.T) {
	t.Parallel()
	h := newHome(t, newDroid, "http://127.0.0.1:9/v1")
	require.NoError(t, os.Remove(filepath.Join(h.dir, ".factory", "settings.json")))
	require.NoError(t, os.Symlink(programs.Agent, filepath.Join(h.dir, "droid-acp")))
	h.env = append(h.env, "PATH="+h.dir+":"+os.Getenv("PATH"))
	missing := h
	missing.droid = filepath.Join(h.dir, "no-such-droid")
	for _, tc := range []struct {
		h    home
		says string
	}{
		{missing, "Install Factory's droid with `npm install -g droid`"},
		{h, "[error] RUNTIME: droid is not logged in. Run `droid-acp login` in a terminal. " +
			"A custom model in ~/.factory/settings.json needs no login. Afterwards send the prompt again."},
	} {
		a := newACPX(t, tc.h)
		require.Contains(t, inOneLine(a.run(t, "exec", "Say hello.")), tc.says)
		h.awaitNoDroid(t, leavingLimit)
	}
}
