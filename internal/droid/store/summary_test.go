package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// TestSummary checks the summary at the beginning of a compacted session; other sessions have none.
func TestSummary(t *testing.T) {
	const start = `{"type":"session_start","id":"x"}` + "\n"
	const compacted = `{"type":"compaction_state","summaryText":"They said hello.\nTwice."}` + "\n"
	const message = `{"type":"message","message":{"role":"user","content":"hi"}}` + "\n"
	root := t.TempDir()
	s := New(root, zap.NewNop())
	require.NoError(t, os.MkdirAll(filepath.Join(root, "-work"), 0o700))
	for content, want := range map[string]string{
		start + compacted + message:                 "They said hello.\nTwice.",
		start + strings.TrimSuffix(compacted, "\n"): "They said hello.\nTwice.",
		start + "damaged\n" + compacted:             "They said hello.\nTwice.",
		start + message + compacted:                 "",
		start + message:                             "",
		start:                                       "",
		"":                                          "",
		start + strings.Repeat("x", maxSummaryAt) + compacted:   "",
		start + `{"type":"compaction_state","summaryText":7}`:   "",
		start + `{"type":"compaction_state","other":"thing"}`:   "",
		start + `{"type":"compaction_state"` + "\n" + compacted: "They said hello.\nTwice.",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, "-work", "x.jsonl"), []byte(content), 0o600))
		got, err := s.Summary("x")
		require.NoError(t, err)
		require.Equal(t, want, got, "%.120s", content)
	}
	var missing *NotFoundError
	_, err := s.Summary("y")
	require.ErrorAs(t, err, &missing)
	_, err = s.Summary("../x")
	require.ErrorAs(t, err, &missing)
}
