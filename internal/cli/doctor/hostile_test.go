package doctor

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Somebody has put a key into the field for the program.
func TestCommandsDoNotTellKeys(t *testing.T) {
	h := newHouse(t, "")
	h.write(".factory/mcp.json", `{"mcpServers": {"a": {"command": "API_KEY=SECRET npx foo"}, "b": {"command": "npx foo --key SECRET"}, "c": {"command": "/none/foo --key=SECRET"}, "d": {"command": "sh -c 'curl https://x/SECRET'"}}}`)
	mcp := h.look("mcp")
	require.Contains(t, mcp.Found, `The command "API_KEY…" of the server "a" is not there.`)
	data, err := json.Marshal(mcp)
	require.NoError(t, err)
	require.NotContains(t, string(data), "SECRET")
	require.Equal(t, "/My Tools/droid-acp", withoutArguments("/My Tools/droid-acp"))
}

func TestManyFaultsAreShort(t *testing.T) {
	h := newHouse(t, "")
	servers := map[string]any{}
	for i := range 500 {
		servers[fmt.Sprint(i)] = map[string]any{"command": "gone"}
	}
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	require.NoError(t, err)
	h.write(".factory/mcp.json", string(data))
	got := h.look("mcp")
	require.Contains(t, got.Found, "And 494 more faults.")
	require.Equal(t, maxNames, strings.Count(got.ToDo, "Install "))
}

// A missing directory for temporary files is reported, and nothing else is blamed.
func TestNoTemporaryFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("another variable names it there")
	}
	h := newHouse(t, "own")
	gone := filepath.Join(t.TempDir(), "gone")
	t.Setenv("TMPDIR", gone)
	r := h.report()
	require.Equal(t, 1, r.Count(Failure), shown(r))
	require.Contains(t, r.of(t, "state").ToDo, "TMPDIR")
	require.Contains(t, r.of(t, "start").Found, "own files")
	require.Contains(t, r.of(t, "bridge").Found, "own files")
}

// What a doctor left that was killed goes with the next one.
func TestWhatAKilledDoctorLeft(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it cannot be known there whether it lives")
	}
	h := newHouse(t, "own")
	id := uuid.NewString()
	dir := filepath.Join(h.home, "tmp", "droid-acp-doctor."+id)
	require.NoError(t, os.Mkdir(dir, 0o700))
	h.report() // it checks that nothing is left
}
