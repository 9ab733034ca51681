package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newRelease is a release of this repository as it is after the archives were
// written, with empty ones.
func newRelease(t *testing.T, version string) *release {
	t.Helper()
	r := &release{Options: Options{Root: "../..", Out: t.TempDir(), BaseURL: "https://example.invalid/releases/download/v" + version}}
	r.stamp = stamp{Version: version, Commit: strings.Repeat("0", 40), Time: time.Unix(1_700_000_000, 0).UTC()}
	for _, s := range systems {
		require.NoError(t, r.keep(r.archiveName(s), nil))
	}
	return r
}

func TestTheRegistryWouldTakeTheEntry(t *testing.T) {
	r := newRelease(t, "1.2.3")
	agent, icon, err := r.registryEntry()
	require.NoError(t, err)
	require.Empty(t, checkEntry(registryID, agent, icon))
	require.NoError(t, r.writeRegistryEntry())
	require.FileExists(t, filepath.Join(r.Out, "droid-acp_1.2.3_registry-entry.tar.gz"))
}

func TestAPrereleaseHasNoRegistryEntry(t *testing.T) {
	r := newRelease(t, "1.2.3-rc.1")
	require.NoError(t, r.writeRegistryEntry())
	require.NoFileExists(t, filepath.Join(r.Out, "droid-acp_1.2.3-rc.1_registry-entry.tar.gz"))
}

// TestTheCheckNoticesEachFault breaks one rule after the other.
func TestTheCheckNoticesEachFault(t *testing.T) {
	good, icon, err := newRelease(t, "1.2.3").registryEntry()
	require.NoError(t, err)
	type object = map[string]any
	at := func(o object, path ...string) object {
		for _, name := range path {
			o = o[name].(object)
		}
		return o
	}
	linux := func(o object) object { return at(o, "distribution", "binary", "linux-x86_64") }
	for fault, c := range map[string]struct {
		spoil func(object)
		says  string
	}{
		"no name":                 {func(o object) { delete(o, "name") }, "'name'"},
		"no description":          {func(o object) { o["description"] = "" }, "description"},
		"no distribution":         {func(o object) { o["distribution"] = object{} }, "distribution"},
		"an id with capitals":     {func(o object) { o["id"] = "Droid-acp" }, "/id"},
		"an id that is no folder": {func(o object) { o["id"] = "droid" }, "folder's name"},
		"Factory's id":            {func(o object) { o["id"] = "factory-droid" }, "another agent's"},
		"a version with a v":      {func(o object) { o["version"] = "v1.2.3" }, "/version"},
		"a prerelease":            {func(o object) { o["version"] = "1.2.3-rc.1" }, "/version"},
		"another version":         {func(o object) { o["version"] = "1.2.4" }, "of version 1.2.3, not of 1.2.4"},
		"an icon's address":       {func(o object) { o["icon"] = "icon.svg" }, "/icon"},
		"a system too few":        {func(o object) { delete(at(o, "distribution", "binary"), "windows-aarch64") }, "windows-aarch64: there is no program"},
		"a system unknown":        {func(o object) { at(o, "distribution", "binary")["linux-riscv64"] = linux(o) }, "linux-riscv64"},
		"latest": {func(o object) {
			linux(o)["archive"] = "https://example.invalid/releases/latest/download/droid-acp.tar.gz"
		}, "/latest/"},
		"an installer":        {func(o object) { linux(o)["archive"] = "https://example.invalid/droid-acp.deb" }, "installer: .deb"},
		"no address":          {func(o object) { linux(o)["archive"] = "not an address" }, "archive"},
		"no command":          {func(o object) { delete(linux(o), "cmd") }, "'cmd'"},
		"another's command":   {func(o object) { linux(o)["cmd"] = "./droid-acp.exe" }, "the command is"},
		"no checksum":         {func(o object) { delete(linux(o), "sha256") }, "no sha256"},
		"a short checksum":    {func(o object) { linux(o)["sha256"] = "abc" }, "sha256"},
		"an unknown field":    {func(o object) { linux(o)["installer"] = true }, "installer"},
		"an npm package":      {func(o object) { at(o, "distribution")["npx"] = object{"package": "@you/droid-acp@1.2.2"} }, "does not name the version 1.2.3"},
		"the newest npm's":    {func(o object) { at(o, "distribution")["npx"] = object{"package": "@you/droid-acp@latest"} }, "does not name the version 1.2.3"},
		"an npm package bare": {func(o object) { at(o, "distribution")["npx"] = object{"package": "@you/droid-acp"} }, "does not name the version 1.2.3"},
	} {
		t.Run(fault, func(t *testing.T) {
			var o object
			require.NoError(t, json.Unmarshal(good, &o))
			c.spoil(o)
			agent, err := json.Marshal(o)
			require.NoError(t, err)
			require.Contains(t, strings.Join(checkEntry(registryID, agent, icon), "\n"), c.says)
		})
	}
	require.Contains(t, strings.Join(checkEntry(registryID, []byte("{"), icon), "\n"), "no JSON")
}

func TestTheCheckNoticesEachFaultOfAnIcon(t *testing.T) {
	good, err := os.ReadFile("../../packaging/registry/droid-acp/icon.svg")
	require.NoError(t, err)
	require.Empty(t, checkIcon(good))
	for fault, c := range map[string]struct{ old, new, says string }{
		"a comment":       {"<path", "<!-- a droid --><path", "comment"},
		"a colour":        {`stroke="currentColor"`, `stroke="#000"`, `"#000"`},
		"a style":         {"<path ", `<path style="fill: red" `, `"red"`},
		"a style sheet":   {"<path", "<style>path{fill:red}</style><path", "style sheet"},
		"no colour":       {`stroke="currentColor"`, `stroke="none"`, "does not use currentColor"},
		"too large":       {`width="16" height="16"`, `width="32" height="32"`, "16 by 16"},
		"not square":      {`height="16"`, `height="8"`, "16 by 16"},
		"no size":         {`width="16" height="16" viewBox="0 0 16 16"`, "", "16 by 16"},
		"no SVG":          {"svg", "html", "no SVG"},
		"not well-formed": {"</svg>", "", "no XML"},
	} {
		t.Run(fault, func(t *testing.T) {
			bad := strings.ReplaceAll(string(good), c.old, c.new)
			require.NotEqual(t, string(good), bad)
			require.Contains(t, strings.Join(checkIcon([]byte(bad)), "\n"), c.says)
		})
	}
}
