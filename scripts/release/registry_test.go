package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// registrySchema is a schema of agent.json that we wrote after the registry's.
//
//go:embed testdata/registry.schema.json
var registrySchema []byte

// releaseOf is where the registry's check looks for the version in an archive's address.
var releaseOf = regexp.MustCompile(`/(?:download|releases)/v?([\d.]+)/`)

// checkEntry checks an entry by the registry's schema.
func checkEntry(t *testing.T, agent []byte) error {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(registrySchema))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	require.NoError(t, compiler.AddResource("registry.schema.json", schema))
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(agent))
	require.NoError(t, err)
	return compiler.MustCompile("registry.schema.json").Validate(instance)
}

// requireEntry checks an entry by the schema and by what the registry's check wants besides
// (autumn 2026): it runs in a fork of the registry, and for each proposal there.
func requireEntry(t *testing.T, folder, version string, agent []byte) (e entry) {
	t.Helper()
	require.NoError(t, checkEntry(t, agent))
	require.NoError(t, json.Unmarshal(agent, &e))
	require.Equal(t, folder, e.ID)
	require.NotEqual(t, "factory-droid", e.ID, "Factory's own entry")
	require.Equal(t, version, e.Version)
	require.Len(t, e.Distribution.Binary, len(systems))
	for platform, target := range e.Distribution.Binary {
		require.NotContains(t, target.Archive, "/latest/", platform)
		require.NotEmpty(t, target.SHA256, platform)
		if of := releaseOf.FindStringSubmatch(target.Archive); of != nil {
			require.Equal(t, version, of[1], platform)
		}
	}
	return e
}

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
	agent, _, err := r.registryEntry()
	require.NoError(t, err)
	requireEntry(t, registryID, "1.2.3", agent)
	require.NoError(t, r.writeRegistryEntry())
	require.FileExists(t, filepath.Join(r.Out, "droid-acp_1.2.3_registry-entry.tar.gz"))
}

// What the registry requires is named where it is missing.
func TestTheRegistryNamesWhatIsMissing(t *testing.T) {
	agent, _, err := newRelease(t, "1.2.3").registryEntry()
	require.NoError(t, err)
	for _, field := range []string{"license_url", "version", "distribution"} {
		var e map[string]any
		require.NoError(t, json.Unmarshal(agent, &e))
		delete(e, field)
		without, err := json.Marshal(e)
		require.NoError(t, err)
		require.ErrorContains(t, checkEntry(t, without), field)
	}
}

func TestAPrereleaseHasNoRegistryEntry(t *testing.T) {
	r := newRelease(t, "1.2.3-rc.1")
	require.NoError(t, r.writeRegistryEntry())
	require.NoFileExists(t, filepath.Join(r.Out, "droid-acp_1.2.3-rc.1_registry-entry.tar.gz"))
}

// The registry takes an SVG of 16×16 whose colours are all currentColor, without comments.
func TestTheRegistryWouldTakeTheIcon(t *testing.T) {
	icon, err := os.ReadFile("../../packaging/registry/droid-acp/icon.svg")
	require.NoError(t, err)
	require.Contains(t, string(icon), `width="16" height="16"`)
	require.NotRegexp(t, "<!--|<style|style=", string(icon))
	colours := regexp.MustCompile(`(?:fill|stroke)="([^"]*)"`).FindAllSubmatch(icon, -1)
	require.NotEmpty(t, colours)
	for _, c := range colours {
		require.Contains(t, []string{"currentColor", "none"}, string(c[1]))
	}
}
