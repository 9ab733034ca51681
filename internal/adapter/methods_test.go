package adapter

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/testing/acptest"
)

// outside are methods that this agent has and the schema has not, besides those of extensions.
var outside = map[string]string{
	methodSetModel:          "clients that know models and no config options call it",
	methodOptions:           "unstable since schema 1.32, which is newer than the copy",
	methodStopTask:          "as claude-agent-acp and codex-acp have it",
	protocol.SteeringMethod: "as claude-agent-acp and codex-acp have it",
}

// TestMethodsOfACP: each method that ACP has for an agent, those that are unstable included, is served, or
// declined for a reason in known.json.
func TestMethodsOfACP(t *testing.T) {
	const schema = "../../testdata/acp-schema"
	served := (&Agent{}).methods()
	surface, err := acptest.ReadSurface(schema)
	require.NoError(t, err)
	known, err := acptest.ReadKnown(schema)
	require.NoError(t, err)
	const prefix = "method of agent: "
	for name := range surface {
		if method, of := strings.CutPrefix(name, prefix); of {
			require.Equal(t, served[method] != nil, known.Surface[name].Served, "known.json says of %s whether it is served", method)
		}
	}
	for method := range served {
		require.NotEqual(t, surface[prefix+method] != "", outside[method] != "", "%s is a method of ACP, or stands in outside", method)
	}
}

// TestExtensionsAreDocumented: each extension method has a row in docs/programs.md, which names no others.
func TestExtensionsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/programs.md")
	require.NoError(t, err)
	documented := regexp.MustCompile("_droid/[a-z_]+").FindAllString(string(doc), -1)
	slices.Sort(documented)
	require.Equal(t, slices.Compact(documented), slices.Sorted(maps.Keys(new(Agent).extensions())))
}
