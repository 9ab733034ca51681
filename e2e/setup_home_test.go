//go:build e2e && linux

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/droids"
	"droid-acp/internal/testing/modelserver"
)

// home is a HOME directory for one droid version with a workspace, so that a test's processes can be distinguished from others.
type home struct {
	dir, work, droid, version string
	env                       []string
	far                       string // the name of dir at the far side, see viaEnv; "" without one
	kept                      bool   // agents are those of a server, see keepEnv
}

// newHome makes a home whose droid uses the model at url.
func newHome(t testing.TB, version, url string) home {
	t.Helper()
	skipNearOnly(t)
	require.Contains(t, programs.Droids, version, "DROID_ACP_E2E_DROIDS names the versions that are fetched")
	dir := t.TempDir()
	h := home{dir: dir, work: filepath.Join(dir, "work"), droid: programs.Droids[version], version: version}
	require.NoError(t, os.Mkdir(h.work, 0o755))
	require.NoError(t, modelserver.WriteSettings(dir, url))
	h.env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "FACTORY_DROID_AUTO_UPDATE_ENABLED=false",
		"DROID_ACP_SPARE=first"} // tests count droids
	switch os.Getenv(viaEnv) {
	case "mount":
		h.far = farName(dir)
	case "ssh":
		h.far = farName(dir)
		h.makeSSH(t)
	}
	if model, ok := models.Load(url); ok && h.far != "" {
		model.(*modelserver.Server).Elsewhere(h.dir, h.far)
	}
	return h
}

// protocol returns the protocol version that the home's droid reports.
func (h home) protocol(t testing.TB) stream.Version {
	t.Helper()
	r, err := droids.Load(knownDroids, h.version)
	require.NoError(t, err, "make record VERSION=%s", h.version)
	return r.Protocol
}

// has reports what the program assumes: a droid between two releases with new features may have more.
func (h home) has(t testing.TB, f stream.Feature) bool {
	t.Helper()
	return h.protocol(t).Supports(f)
}

// does reports what was recorded of the home's droid.
func (h home) does(t testing.TB, f stream.Feature) bool {
	t.Helper()
	r, err := droids.Load(knownDroids, h.version)
	require.NoError(t, err, "make record VERSION=%s", h.version)
	for _, c := range droids.Checks() {
		if c.Feature != nil && *c.Feature == f {
			return c.Of(r) == droids.Yes
		}
	}
	t.Fatalf("no recording shows whether droid can %s", f)
	return false
}

// process is a running process of a home.
type process struct {
	pid     int
	droid   bool // its executable is the home's droid
	command string
}

// processes returns the running processes with this HOME, except for the agent itself.
func (h home) processes(t testing.TB) []process {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	var found []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil || !h.isHomeOf(string(env)) {
			continue // it has exited, or is not ours
		}
		exe, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
		if err != nil || strings.TrimSuffix(exe, " (deleted)") == programs.Agent || isFarSide(string(env)) {
			continue
		}
		command, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		droid, err := filepath.EvalSymlinks(h.droid)
		require.NoError(t, err)
		found = append(found, process{pid, exe == droid, strings.ReplaceAll(string(command), "\x00", " ")})
	}
	return found
}

// awaitNoDroid checks that every droid of the home exits within limit after the editor has left.
func (h home) awaitNoDroid(t testing.TB, limit time.Duration) {
	t.Helper()
	h.awaitNoneLeft(t, limit, func(p process) bool { return p.droid })
}

// awaitNoneLeft is awaitNone after the editor has left. A server keeps sessions running: keeps checks at its end that nothing outlives it.
func (h home) awaitNoneLeft(t testing.TB, limit time.Duration, matters func(process) bool) {
	t.Helper()
	if !h.kept {
		h.awaitNone(t, limit, matters)
	}
}

// awaitNone checks that no process of the home that matters remains within limit, and kills those that do.
func (h home) awaitNone(t testing.TB, limit time.Duration, matters func(process) bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		var left []process
		for _, p := range h.processes(t) {
			if matters(p) {
				left = append(left, p)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, p := range left {
				t.Errorf("process %d is left after %v: %.200s", p.pid, limit, p.command)
				_ = syscall.Kill(p.pid, syscall.SIGKILL)
			}
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// endTools kills the home's remaining tool processes.
func (h home) endTools(t testing.TB) {
	t.Helper()
	for _, p := range h.processes(t) {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// models are the scripted models by their URLs.
var models sync.Map

// newModel starts a scripted model for one test.
func newModel(t testing.TB) *modelserver.Server {
	t.Helper()
	s, err := modelserver.Start()
	require.NoError(t, err)
	models.Store(s.URL(), s)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// droidsOf returns the versions of droid that a test runs. A short run (go test -short) has the newer droid alone, since the older one takes
// three times as long to start.
func droidsOf() []string {
	if testing.Short() {
		return []string{newDroid}
	}
	return []string{oldDroid, newDroid}
}

// adapterEnv has a short run include the tests that call ofAdapter.
const adapterEnv = "DROID_ACP_E2E_ADAPTER"

// ofAdapter marks a test of what internal/quirks, droid, adapter and workspace decide: a short run leaves it out, but for adapterEnv, which CI
// sets unless the change is in what they do not need (.ci/run).
func ofAdapter(t *testing.T) {
	if testing.Short() && os.Getenv(adapterEnv) == "" && os.Getenv(keepEnv) == "" {
		t.Skip("nothing that decides this has changed")
	}
}

// eachVersion runs a test with each of its droids, each with its own model and home.
func eachVersion(t *testing.T, test func(t *testing.T, model *modelserver.Server, h home)) {
	t.Parallel()
	for _, version := range droidsOf() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			model := newModel(t)
			h := newHome(t, version, model.URL())
			if os.Getenv(keepEnv) != "" {
				h = h.keeps(t)
				h.kept, h.env = true, append(h.env, "DROID_ACP_KEEP=1")
			}
			test(t, model, h)
		})
	}
}

// execute is a call of droid's Execute tool.
func execute(id, command string) modelserver.ToolCall {
	return modelserver.ToolCall{ID: id, Name: "Execute", Args: map[string]any{
		"summary": "Run a command", "command": command, "timeout": 300,
		"riskLevel": "medium", "riskLevelReason": "a test",
	}}
}
