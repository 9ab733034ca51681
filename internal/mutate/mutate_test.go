package mutate

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite testdata/tiny.txt")

// TestSites compares all mutants of tiny with a list that was read by somebody.
func TestSites(t *testing.T) {
	const golden = "testdata/tiny.txt"
	var b strings.Builder
	for _, m := range sites(load(t)) {
		fmt.Fprintf(&b, "%s %s\n- %s\n+ %s\n\n", m.Func, m.Operator, m.Before, m.After)
	}
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

// TestMutants_Order: a seed gives one order, in which the operators take turns.
func TestMutants_Order(t *testing.T) {
	p := load(t)
	first := Mutants(p, 1)
	require.Equal(t, first, Mutants(p, 1))
	require.NotEqual(t, first, Mutants(p, 2))
	require.ElementsMatch(t, first, sites(p))
	for i, m := range first[:12] {
		require.Equal(t, operators[i%len(operators)], m.Operator)
	}
}

// TestShuffle_Stable: an element more leaves the order of the others as it was.
func TestShuffle_Stable(t *testing.T) {
	name := func(s string) string { return s }
	few := strings.Fields("a b c d e f g h")
	more := append([]string{"new"}, few...)
	shuffle(few, 7, name)
	shuffle(more, 7, name)
	require.NotEqual(t, strings.Fields("a b c d e f g h"), few)
	require.Equal(t, few, slices.DeleteFunc(more, func(s string) bool { return s == "new" }))
}

func TestTakeTurns(t *testing.T) {
	require.Equal(t, []int{1, 4, 5, 2, 6, 3}, takeTurns([][]int{{1, 2, 3}, {4}, {}, {5, 6}}))
}

func TestLoad_Errors(t *testing.T) {
	for pattern, want := range map[string]string{
		"./testdata/not-there": "listing ./testdata/not-there",
		"errors":               "one package of a module",
	} {
		_, err := Load(t.Context(), "", pattern)
		require.ErrorContains(t, err, want)
	}
}

func load(t *testing.T) *Package {
	t.Helper()
	p, err := Load(t.Context(), "", "./testdata/tiny")
	require.NoError(t, err)
	require.Equal(t, "internal/mutate/testdata/tiny", p.Folder)
	return p
}
