package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
)

// house is a home directory with a project and a droid.
type house struct {
	t      *testing.T
	home   string
	config Config
}

// newHouse makes one; fake names its droid, "" for none.
func newHouse(t *testing.T, fake string) *house {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, value := range map[string]string{"HOME": home, "USERPROFILE": home, "FACTORY_HOME_OVERRIDE": "",
		"PATH": filepath.Join(home, "bin"), droid.EnvDroid: "", envKey: "", "TMPDIR": filepath.Join(home, "tmp"), "TMP": filepath.Join(home, "tmp"),
		envFake: fake, "GORACE": "atexit_sleep_ms=0"} {
		t.Setenv(name, value)
	}
	h := &house{t: t, home: home}
	for _, dir := range []string{"bin", "tmp", "work", filepath.Join(".local", "bin")} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, dir), 0o700))
	}
	if fake != "" {
		h.program()
	}
	h.write("bin/npm", "x")
	if sh, err := exec.LookPath("/bin/sh"); err == nil { // without it no group of processes can be made
		require.NoError(t, os.Symlink(sh, filepath.Join(home, "bin", "sh")))
	}
	h.config = Config{
		Find: func() (string, error) { return droid.Find("") }, Dir: filepath.Join(home, "work"), Home: home,
		Journal: filepath.Join(home, ".local", "state", "droid-acp", "edits"), Version: "1.2.3",
		Demo: func(context.Context) error { return nil }, Timeout: 20 * time.Second,
		Keep: func(context.Context) KeepStatus {
			return KeepStatus{filepath.Join(home, "run", "serve.sock"), "No server runs; --keep starts one.", ""}
		},
	}
	return h
}

// program makes this test program the house's droid.
func (h *house) program() {
	self, err := os.Executable()
	require.NoError(h.t, err)
	name := "droid"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	to := filepath.Join(h.home, ".local", "bin", name)
	if os.Link(self, to) == nil {
		return
	}
	from, err := os.Open(self)
	require.NoError(h.t, err)
	defer from.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(h.t, err)
	_, err = io.Copy(file, from)
	require.NoError(h.t, errors.Join(err, file.Close()))
}

// write makes a file of the home that may be run.
func (h *house) write(name, text string) string {
	path := filepath.Join(h.home, filepath.FromSlash(name))
	require.NoError(h.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(h.t, os.WriteFile(path, []byte(text), 0o700))
	return path
}

// report runs the doctor and checks that it left nothing.
func (h *house) report() Report {
	h.t.Helper()
	r := Run(h.t.Context(), h.config)
	h.clean()
	for _, c := range r.Checks {
		h.sensible(c)
	}
	return r
}

// sensible checks that a line that is not well says what to do.
func (h *house) sensible(c Check) {
	h.t.Helper()
	require.NotEmpty(h.t, c.Found)
	if c.Result == Failure || c.Result == Warning {
		require.NotEmpty(h.t, c.ToDo, c.Found)
	}
}

func (h *house) clean() {
	h.t.Helper()
	left, err := os.ReadDir(filepath.Join(h.home, "tmp"))
	require.NoError(h.t, err)
	require.Empty(h.t, left, "a directory of the doctor's is left")
	sessions, err := os.ReadDir(filepath.Join(h.home, ".factory", "sessions"))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(h.t, err)
	}
	require.Empty(h.t, sessions, "a session of the doctor's is left")
}

// of is a check of a report.
func (r Report) of(t *testing.T, id string) Check {
	t.Helper()
	i := slices.IndexFunc(r.Checks, func(c Check) bool { return c.ID == id })
	require.GreaterOrEqual(t, i, 0)
	return r.Checks[i]
}

func TestNoDroid(t *testing.T) {
	h := newHouse(t, "")
	r := h.report()
	found := r.of(t, "droid")
	require.Equal(t, Failure, found.Result)
	require.Contains(t, found.ToDo, "Install Factory's droid with `")
	require.Equal(t, "droid_not_found", found.Facts["kind"])
	for _, id := range []string{"start", "session", "login", "model"} {
		require.Equal(t, Skipped, r.of(t, id).Result, id)
	}
	require.Equal(t, OK, r.of(t, "bridge").Result, "the demo needs no droid")
	require.Equal(t, 1, r.Count(Failure))
}

func TestNoLogin(t *testing.T) {
	r := newHouse(t, "factory").report()
	require.Equal(t, OK, r.of(t, "session").Result, r.of(t, "session").Found)
	login := r.of(t, "login")
	require.Equal(t, Failure, login.Result)
	require.Equal(t, "droid is not logged in. New sessions start with Factory's model GPT-5.6 Sol, which needs a login.", login.Found)
	require.Contains(t, login.ToDo, "`droid-acp login`")
	require.Equal(t, 1, r.Count(Failure), shown(r))
	require.Equal(t, map[string]any{"protocol": "1.220.0", "generation": "0.225"}, r.of(t, "start").Facts)
}

func TestOwnModel(t *testing.T) {
	h := newHouse(t, "own")
	h.write(".factory/settings.json", `{ // mine
"customModels": [{"model": "m", "displayName": "Scripted", "provider": "openai", "apiKey": "SECRET", "baseUrl": "http://SECRET@x"}]}`)
	r := h.report()
	require.Zero(t, r.Count(Failure)+r.Count(Warning), shown(r))
	require.Contains(t, r.of(t, "login").Found, "need not be: new sessions start with your own model Scripted.")
	require.Contains(t, r.of(t, "settings").Found, "Scripted (openai)")
	require.Contains(t, r.of(t, "model").ToDo, "droid-acp smoke")
	text, err := r.JSON()
	require.NoError(t, err)
	require.NotContains(t, text+shown(r), "SECRET")
	require.NotContains(t, text+shown(r), h.home, "the home is ~")

	h.config.Model = "custom:Scripted-1"
	r = h.report()
	require.Contains(t, r.of(t, "session").Found, `does not start with the model "custom:Scripted-1"`)
	require.Equal(t, 1, r.Count(Failure), "one cause, one failure")
}

func TestOwnModelIsNotChosen(t *testing.T) {
	h := newHouse(t, "both")
	login := h.report().of(t, "login")
	require.Equal(t, Failure, login.Result)
	require.Contains(t, login.ToDo, "`--model custom:Scripted-0`")
	require.NotContains(t, login.ToDo, "A custom model", "they have one, and it was named before")
}

func TestLogins(t *testing.T) {
	h := newHouse(t, "factory")
	h.write(".factory/auth.v2.file", "x")
	require.Equal(t, "account", h.report().of(t, "login").Facts["kind"])
	t.Setenv(envKey, "SECRET")
	login := h.report().of(t, "login")
	require.Equal(t, "api_key", login.Facts["kind"])
	require.NotContains(t, login.Found, "SECRET")
}

func TestBrokenDroids(t *testing.T) {
	for fake, want := range map[string]struct{ id, found string }{
		"broken":     {"droid", "droid exited with code 3 before it said anything: a library is missing"},
		"dying":      {"start", "droid exited with code 9 before it said anything: no memory"},
		"mute":       {"start", "droid was started and said nothing within "},
		"mute-later": {"session", "droid did not open a session within "},
		"refusing":   {"session", "droid refused to open a session: not today."},
	} {
		t.Run(fake, func(t *testing.T) {
			h := newHouse(t, fake)
			h.config.Timeout = time.Minute
			if strings.HasPrefix(fake, "mute") {
				h.config.Timeout = time.Second
			}
			r := h.report()
			for (r.of(t, want.id).Result != Failure || r.Count(Failure) > 1) && h.config.Timeout < time.Minute { // too little for other checks on a busy machine
				h.config.Timeout *= 2
				r = h.report()
			}
			require.Equal(t, Failure, r.of(t, want.id).Result, shown(r))
			require.Contains(t, r.of(t, want.id).Found, want.found)
			require.NotEmpty(t, r.of(t, want.id).ToDo)
			require.NotContains(t, shown(r), "\x1b")
			require.Equal(t, 1, r.Count(Failure), "one cause, one failure")
		})
	}
}

// A droid that is newer than all that were tried is named, and is no fault.
func TestNewerThanTried(t *testing.T) {
	start := newHouse(t, "newer").report().of(t, "start")
	require.Equal(t, OK, start.Result)
	require.Contains(t, start.Found, "It is newer than droid 0.225.2 (protocol 1.220.0), the newest that droid-acp was tried with.")
	require.Equal(t, true, start.Facts["untried"])
}

// A droid that reports no version may still work.
func TestNoVersion(t *testing.T) {
	h := newHouse(t, "hung")
	h.config.Timeout = 4 * time.Second
	r := h.report()
	require.Equal(t, Warning, r.of(t, "droid").Result, shown(r))
	require.Contains(t, r.of(t, "droid").Found, "It did not tell its version within 2s.")
	require.Equal(t, OK, r.of(t, "session").Result)
}

// A droid that hangs in all that it is asked takes no longer than one that hangs once.
func TestHangingDroid(t *testing.T) {
	h := newHouse(t, "dead")
	h.config.Timeout = 2 * time.Second
	var took time.Duration
	began := time.Now()
	h.config.Each = func(_ Report, c Check) {
		if c.ID == "session" {
			took = time.Since(began)
		}
	}
	require.Equal(t, Failure, h.report().of(t, "start").Result)
	require.Less(t, took, h.config.Timeout*3/2)
}

func TestWrongSystem(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a program is told by its name there")
	}
	h := newHouse(t, "")
	head := append([]byte("\x7fELF\x02\x01\x01\x00"), make([]byte, 56)...)
	head[16], head[18], head[20], head[52], head[54], head[58] = 2, 243, 1, 64, 56, 64 // RISC-V
	h.write(".local/bin/droid", string(head))
	found := h.report().of(t, "droid")
	require.Equal(t, Failure, found.Result)
	require.Contains(t, found.Found, "is a program for linux/EM_RISCV, and this system is "+runtime.GOOS+"/"+runtime.GOARCH)
}

func TestOldDroid(t *testing.T) {
	r := newHouse(t, "old").report()
	require.Equal(t, Warning, r.of(t, "start").Result, shown(r))
	require.Contains(t, r.of(t, "start").ToDo, "Update droid")
	start := newHouse(t, "older").report().of(t, "start")
	require.Equal(t, Warning, start.Result)
	require.Contains(t, start.Found, "that of droid 0.99 and newer. It cannot rename a session, list custom commands and skills")
	require.Contains(t, start.Found, "; droid 0.215 and newer can.")
	require.Regexp(t, "^Update droid, by `.*droid.* update` or as you installed it.$", start.ToDo)
}

func TestBridge(t *testing.T) {
	h := newHouse(t, "own")
	h.config.Demo = func(context.Context) error { return errors.New("no end") }
	bridge := h.report().of(t, "bridge")
	require.Equal(t, Failure, bridge.Result)
	require.Contains(t, bridge.Found, "no end.")
}

func TestJSON(t *testing.T) {
	h := newHouse(t, "own")
	text, err := h.report().JSON()
	require.NoError(t, err)
	var report struct {
		Version, System string
		OK              bool
		Checks          []struct{ ID, Name, Result, Found, ToDo string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &report))
	require.True(t, report.OK)
	require.Equal(t, "1.2.3", report.Version)
	require.Len(t, report.Checks, len(table))
	require.Equal(t, "home", report.Checks[0].ID)
	require.Equal(t, "ok", report.Checks[0].Result)
}

// A missing requirement of --keep is a warning: other uses do not need it.
func TestKeep(t *testing.T) {
	h := newHouse(t, "factory")
	look := func(k KeepStatus) Check {
		h.config.Keep = func(context.Context) KeepStatus { return k }
		c := checkKeep(&inspection{Config: h.config}, t.Context())
		return Check{Result: c.Result, Found: c.Found, ToDo: c.ToDo}
	}
	require.Equal(t, Check{Result: OK, Found: "It runs."}, look(KeepStatus{filepath.Join(h.home, "new", "serve.sock"), "It runs.", ""}))
	require.Equal(t, Check{Result: Warning, Found: "It is old.", ToDo: "End it."}, look(KeepStatus{"", "It is old.", "End it."}))
	blocked := h.write("file", "x")
	got := look(KeepStatus{filepath.Join(blocked, "serve.sock"), "None runs.", ""})
	require.Equal(t, Warning, got.Result)
	require.Equal(t, blocked+" is no directory.", got.Found)
	require.NotEmpty(t, got.ToDo)
	h.config.Keep = nil
	require.Equal(t, Skipped, checkKeep(&inspection{Config: h.config}, t.Context()).Result)
}
