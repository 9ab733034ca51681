package testeditor

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomText has lines from so few that many are equal.
func randomText(r *rand.Rand) string {
	var text strings.Builder
	for range r.IntN(12) {
		text.WriteString([]string{"a\n", "b\n", "c\n", "d\n", "\n"}[r.IntN(5)])
	}
	if r.IntN(4) == 0 {
		text.WriteString("end")
	}
	return text.String()
}

// TestDifference: the edits make the one text of the other.
func TestDifference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		old, new := randomText(r), randomText(r)
		b := &buffer{text: old}
		b.apply(difference(old, new), user)
		require.Equal(t, new, b.text, "from %q", old)
	}
}

// TestDifferenceOfLargeTexts: the work is bounded where nearly all lines differ.
func TestDifferenceOfLargeTexts(t *testing.T) {
	old, new := strings.Repeat("one line\n", 100_000), strings.Repeat("another line\n", 100_000)
	b := &buffer{text: "head\n" + old + "tail\n"}
	b.apply(difference(b.text, "head\n"+new+"tail\n"), user)
	require.Equal(t, "head\n"+new+"tail\n", b.text)
	require.Len(t, b.log, 1)
	require.Equal(t, len("head\n"), b.log[0].start)
}

func TestRebase(t *testing.T) {
	for name, tc := range map[string]struct{ base, before, after, want string }{
		"before the agent's lines":        {"1\n2\n3\n", "1\n2\nC\n", "0\n1\n2\nC\n", "0\n1\n2\n3\n"},
		"behind them":                     {"1\n2\n3\n", "A\nA\n2\n3\n", "A\nA\n2\n3\n4\n", "1\n2\n3\n4\n"},
		"in them":                         {"1\n2\n3\n", "1\nB\n3\n", "1\nX\n3\n", "1\n2\n3\n"},
		"taken back":                      {"1\n2\n3\n", "1\nB\n3\n", "1\n2\n3\n", "1\n2\n3\n"},
		"right before them":               {"1\n2\n3\n", "1\nB\n3\n", "1\nnew\nB\n3\n", "1\nnew\n2\n3\n"},
		"right behind them":               {"1\n2\n3\n", "1\nB\n3\n", "1\nB\nnew\n3\n", "1\n2\nnew\n3\n"},
		"between what the agent added":    {"1\n", "1\na\nb\n", "1\na\nX\nb\n", "1\n"},
		"where the agent removed":         {"1\n2\n3\n", "1\n3\n", "1\nX\n3\n", "1\n2\n3\n"},
		"beside what the agent removed":   {"1\n2\n3\n", "1\n3\n", "X\n3\n", "1\n2\n3\n"},
		"far from what the agent removed": {"1\n2\n3\n4\n", "1\n3\n4\n", "1\n3\nX\n", "1\n2\n3\nX\n"},
		"several places":                  {"1\n2\n3\n4\n5\n", "1\nB\nB\n3\n4\n5\n", "0\nB\nB\n3\nfour\n5\n6\n", "0\n2\n3\nfour\n5\n6\n"},
		"no last end of line":             {"1\n2", "A\n2", "A\n2\n3", "1\n2\n3"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, rebase(tc.base, tc.before, tc.after)) })
	}
}

// TestRebaseWithoutAgent: where the agent has changed nothing, the base follows the user.
func TestRebaseWithoutAgent(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		before, after := randomText(r), randomText(r)
		require.Equal(t, after, rebase(before, before, after))
		require.Equal(t, before, rebase(before, after, after))
	}
}
