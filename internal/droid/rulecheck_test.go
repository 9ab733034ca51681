package droid

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Answers of 0.225.2, reduced to the fields that are read.
func TestReadRuleCheck(t *testing.T) {
	for text, want := range map[string]RuleCheck{
		`{"sources":[],"preview":{"command":"x","decision":{"decision":"allow","source":"legacy-allowlist","patterns":["touch","make"]},"matches":[]}}`: {Decision: "allow", Source: "legacy-allowlist", Patterns: []string{"touch", "make"}},
		"a warning\n" + `{"preview":{"decision":{"decision":"ask","source":"legacy-denylist","pattern":"curl"}}}`:                                       {Decision: "ask", Source: "legacy-denylist", Patterns: []string{"curl"}},
		`{"preview":{"decision":{"decision":"no-match"}}}`:                                                                                              {Decision: "no-match"},
	} {
		var got RuleCheck
		require.NoError(t, got.read([]byte(text)))
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "{", "nothing", `{"decision":"allow"}`, `{"preview":{}}`, `{"preview":{"decision":"allow"}}`} {
		require.Error(t, new(RuleCheck).read([]byte(text)), text)
	}
}
