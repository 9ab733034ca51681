package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// TestResults checks the results that the model got for calls, read from the end of a file of any form.
func TestResults(t *testing.T) {
	root := t.TempDir()
	s := New(root, zap.NewNop())
	require.NoError(t, os.MkdirAll(filepath.Join(root, "-work"), 0o700))
	result := func(id, content string) string {
		return `{"type":"message","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":` + content + `}]}}` + "\n"
	}
	const start = `{"type":"session_start","id":"x"}` + "\n"
	for content, want := range map[string]map[string]string{
		start: {},
		start + result("a", `"one"`) + result("b", `"two"`) + result("c", `"three"`): {"a": "one", "b": "two"},
		start + result("a", `"one"`) + result("a", `"newer"`):                        {"a": "newer"},
		start + result("a", `[{"type":"text","text":"x"}]`) + "a damaged line\n":     {},
		start + result("a", `"one"`) + strings.Repeat("x", maxResults):               {},
		start + strings.Repeat("x", maxResults) + "\n" + result("b", `"two"`):        {"b": "two"},
		start + `{"type":"message","message":{"content":"a"}}` + "\n":                {},
		start + `{"message":{"content":[{"tool_use_id":"a","content":"cut`:           {},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, "-work", "x.jsonl"), []byte(content), 0o600))
		got, err := s.Results("x", []string{"a", "b"})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := s.Results("none", []string{"a"})
	require.ErrorAs(t, err, new(*NotFoundError))
}
