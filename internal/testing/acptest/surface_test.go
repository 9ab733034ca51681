package acptest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	root   = "../../../"
	copied = root + "testdata/acp-schema"
)

func ours(t *testing.T) (Surface, Known) {
	t.Helper()
	surface, err := ReadSurface(copied)
	require.NoError(t, err)
	known, err := ReadKnown(copied)
	require.NoError(t, err)
	return surface, known
}

// sources is the code that is no test of some packages, as one text.
func sources(t *testing.T, dirs ...string) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range dirs {
		paths, err := filepath.Glob(filepath.Join(root, "internal", dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, paths, dir)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			if !strings.HasSuffix(path, "_test.go") {
				b.Write(text)
			}
		}
	}
	return b.String()
}

// All of ACP is served or declined, what is marked as served is in the code, and code and the page for programs agree with known.json.
func TestKnown(t *testing.T) {
	surface, known := ours(t)
	require.Empty(t, known.NotLookedAt(surface), "known.json says of each whether it is served")
	code := sources(t, "acp/protocol", "adapter", "adapter/session", "adapter/options", "render")
	page, err := os.ReadFile(root + "docs/programs.md")
	require.NoError(t, err)
	_, list, _ := strings.Cut(string(page), "**Not there.**")
	list, _, _ = strings.Cut(list, "\n\n")
	for name, item := range known.Surface {
		what, word, _ := strings.Cut(name, ": ")
		if what == "announced" {
			continue
		}
		require.NotEmpty(t, surface[name], "%s is in no schema", name)
		word = word[strings.LastIndex(word, ".")+1:]
		if what == "update" || strings.HasPrefix(what, "capability") {
			require.True(t, !item.Served || regexp.MustCompile(`"`+word+`[",]`).MatchString(code), "%s is in the code", name)
		}
		if what == "method of agent" && !item.Served && word != "mcp/message" {
			family, _, _ := strings.Cut(word, "/")
			require.Regexp(t, "`"+word+"`|`"+family+`/\*`+"`|`"+regexp.QuoteMeta(strings.Replace(word, "unarchive", "archive", 1))+"`", list, "docs/programs.md says that it is not there")
		}
	}
	for _, found := range regexp.MustCompile("json:\"(\\w+)[^\n]*//[^\n]*unstable in ACP").FindAllStringSubmatch(code, -1) {
		for name := range surface {
			if strings.HasPrefix(name, "capability") && strings.HasSuffix(name, "."+found[1]) {
				require.Equal(t, "unstable", known.state(name, surface), "what a comment says of %s", name)
			}
		}
	}
	require.Equal(t, "stable", known.state("capability of agent: sessionCapabilities.systemPrompt", surface))
	require.Equal(t, "unstable", known.state("capability of agent: sessionCapabilities.fork", surface))
}

// TestNews puts something new, something gone and something that became stable into a copy of the schema.
func TestNews(t *testing.T) {
	surface, known := ours(t)
	require.Empty(t, known.News(surface, surface))
	dir := t.TempDir()
	change := func(name string, by func(defs map[string]any)) {
		text, err := os.ReadFile(filepath.Join(copied, name))
		require.NoError(t, err)
		var doc map[string]any
		require.NoError(t, json.Unmarshal(text, &doc))
		by(doc["$defs"].(map[string]any))
		text, err = json.Marshal(doc)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	property := func(defs map[string]any, of, name string) {
		defs[of].(map[string]any)["properties"].(map[string]any)[name] = map[string]any{"type": "string"}
	}
	change("schema.unstable.json", func(defs map[string]any) {
		property(defs, "PromptRequest", "hurry")
		property(defs, "SessionCapabilities", "dream")
		defs["DreamRequest"] = map[string]any{"x-method": "session/dream", "x-side": "agent", "type": "object"}
		updates := defs["SessionUpdate"].(map[string]any)
		updates["oneOf"] = append(updates["oneOf"].([]any), map[string]any{"properties": map[string]any{"sessionUpdate": map[string]any{"const": "dream_update"}}})
	})
	change("schema.json", func(defs map[string]any) {
		defs["ForkSessionRequest"] = map[string]any{"x-method": "session/fork", "x-side": "agent", "type": "object"}
	})
	theirs, err := ReadSurface(dir)
	require.NoError(t, err)
	require.Equal(t, []string{
		"new: capability of agent: sessionCapabilities.dream (unstable); not looked at",
		"new: field: PromptRequest.hurry (unstable)",
		"new: field: SessionCapabilities.dream (unstable)",
		"new: method of agent: session/dream (unstable); not looked at",
		"method of agent: session/fork was unstable and is stable; served",
		"new: update: dream_update (unstable); not looked at",
	}, known.News(surface, theirs))
	require.Equal(t, []string{"capability of agent: sessionCapabilities.dream", "method of agent: session/dream", "update: dream_update"}, known.NotLookedAt(theirs))
	gone := Surface{}
	require.Contains(t, known.News(surface, gone), "gone: capability of agent: promptCapabilities.audio; declined because droid takes no audio")
}

func TestCheckLook(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	require.NoError(t, checkReading("ACP", "2026-10-27", now))
	require.ErrorContains(t, checkReading("ACP", "2026-10-25", now), "nobody has looked at ACP for 31 days")
	require.ErrorContains(t, checkReading("ACP", "soon", now), "cannot be read")
}

// TestNewestSchema is `make acp-check`: $DROID_ACP_NEWEST_SCHEMA is a directory with the newest schema. Its differences from ours are
// listed, and are an error until our copy is updated and known.json has a decision; so is an outdated reading of ACP's announcements, or of
// the registry.
func TestNewestSchema(t *testing.T) {
	dir := os.Getenv("DROID_ACP_NEWEST_SCHEMA")
	if dir == "" {
		t.Skip("make acp-check")
	}
	surface, known := ours(t)
	newest, err := ReadSurface(dir)
	require.NoError(t, err)
	for _, line := range known.News(surface, newest) {
		t.Error(line)
	}
	text, err := os.ReadFile(root + "scripts/release/testdata/registry.schema.json")
	require.NoError(t, err)
	var registry struct {
		Looked string `json:"x-looked"`
	}
	require.NoError(t, json.Unmarshal(text, &registry))
	now := time.Now()
	require.NoError(t, errors.Join(checkReading("ACP's announcements and RFDs", known.Looked, now), checkReading("the schema of ACP's registry", registry.Looked, now)))
}
