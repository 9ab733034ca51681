package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// named and described match schema nodes whose text is a path or a URI.
var (
	named     = regexp.MustCompile(`(?i)(path|uri|cwd|director|folder|file)`)
	described = regexp.MustCompile(`(?i)absolute path|file path|\bURI\b|executable`)
)

// walkSchema returns the fields below a node that are paths according to the schema.
func walkSchema(defs map[string]any, node any, where string, above []string, add func(string)) {
	n, _ := node.(map[string]any)
	if name := strings.TrimPrefix(fmt.Sprint(n["$ref"]), "#/$defs/"); defs[name] != nil && !slices.Contains(above, name) {
		walkSchema(defs, defs[name], where, append(slices.Clone(above), name), add)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := n[key].([]any)
		for _, part := range parts {
			walkSchema(defs, part, where, above, add)
		}
	}
	if n["items"] != nil {
		walkSchema(defs, n["items"], where+"[]", above, add)
	}
	properties, _ := n["properties"].(map[string]any)
	for name, value := range properties {
		p, _ := value.(map[string]any)
		at := strings.TrimPrefix(where+"."+name, ".")
		items, _ := p["items"].(map[string]any)
		switch {
		case !named.MatchString(name) && !described.MatchString(fmt.Sprint(p["description"])):
		case strings.Contains(fmt.Sprint(p["type"]), "string"):
			add(at)
		case strings.Contains(fmt.Sprint(items["type"]), "string"):
			add(at + "[]")
		}
		walkSchema(defs, p, at, above, add)
	}
}

// schemaPaths are the places of paths in ACP, by method.
func schemaPaths(t *testing.T, file string) map[string][]string {
	data, err := os.ReadFile("../../../testdata/acp-schema/" + file)
	require.NoError(t, err)
	var doc struct {
		Defs map[string]any `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(data, &doc))
	found := map[string][]string{}
	for name, d := range doc.Defs {
		method, _ := d.(map[string]any)["x-method"].(string)
		if method == "" {
			continue
		}
		if strings.HasSuffix(name, "Response") {
			method += ".result"
		}
		walkSchema(doc.Defs, d, "", []string{name}, func(at string) { found[method] = append(found[method], at) })
	}
	return found
}

// notInTheSchema are places that the schema does not say to be paths: extensions, and what
// is a program.
var notInTheSchema = regexp.MustCompile(`^terminal/create command$|^session/update update.outputFilePath$|^_|_meta`)

// TestEveryPathOfACPIsKnown: a path that the schema gets is noticed.
func TestEveryPathOfACPIsKnown(t *testing.T) {
	known := map[string]bool{}
	for method, places := range pathFieldLists {
		for _, place := range strings.Fields(places) {
			where, _, _ := strings.Cut(place, ":")
			require.False(t, known[method+" "+where], "%s %s stands twice", method, where)
			known[method+" "+where] = true
		}
	}
	stable, unstable := schemaPaths(t, "schema.json"), schemaPaths(t, "schema.unstable.json")
	require.Contains(t, stable, "session/prompt")
	schema := map[string]bool{}
	for _, places := range []map[string][]string{stable, unstable} {
		for method, at := range places {
			for _, where := range at {
				schema[method+" "+where] = true
				if _, served := pathFieldLists[method]; served || stable[method] != nil {
					require.True(t, known[method+" "+where], "%s of %s is a path that is not in the table", where, method)
				}
			}
		}
	}
	for place := range known {
		require.True(t, schema[place] || notInTheSchema.MatchString(place), "%s is no path of the schema", place)
	}
}

func TestPathFields(t *testing.T) {
	const update = `{"sessionId":"/s","update":{"sessionUpdate":"tool_call","name":"Edit","title":"Edit /a","rawInput":{"file_path":"/a"},"locations":[{"path":"/a"}],` +
		`"content":[{"type":"diff","path":"/a","newText":"/a"},{"type":"content","content":{"type":"resource_link","uri":"file:///a","name":"/a"}}]}}`
	got := PathFields("session/update").Rewrite([]byte(update), 0, func(_, _ string, value []byte) []byte { return bytes.Replace(value, []byte("/a"), []byte("/b"), 1) })
	require.Equal(t, strings.NewReplacer(`{"path":"/a`, `{"path":"/b`, `diff","path":"/a`, `diff","path":"/b`, `file:///a`, `file:///b`).Replace(update), string(got))
	require.Nil(t, PathFields("session/set_mode"))
}
