package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/mutate"
)

func results(killed, hung, explained, unexplained int) []mutate.Result {
	var all []mutate.Result
	for range killed {
		all = append(all, mutate.Result{Fate: mutate.Killed})
	}
	for range hung {
		all = append(all, mutate.Result{Fate: mutate.Hung})
	}
	survivor := mutate.Result{Fate: mutate.Survived, Mutant: mutate.Mutant{Line: 7, Key: mutate.Key{
		Package: "internal/a", File: "b.go", Func: "F", Operator: mutate.Drop, Before: "x = 1",
	}}}
	for range unexplained {
		all = append(all, survivor)
	}
	survivor.Reason = "Nobody reads x."
	for range explained {
		all = append(all, survivor)
	}
	return all
}

func TestTell(t *testing.T) {
	entry := mutate.Accepted{Key: mutate.Key{Package: "internal/a", File: "old.go", Func: "F", Operator: mutate.Drop}, Reason: "x"}
	for _, test := range []struct {
		name   string
		report mutate.Report
		fails  bool
		says   string
	}{
		{"enough", mutate.Report{Results: results(80, 5, 15, 0)}, false, "100       85     85.0         15            0        0"},
		{"too few", mutate.Report{Results: results(84, 0, 16, 0)}, true, "100       84     84.0         16            0        0"},
		{"explained", mutate.Report{Results: results(9, 0, 1, 0)}, false, "survived: internal/a/b.go:7\ninternal/a/b.go F drop\n- x = 1\n+ \nNobody reads x.\n"},
		{"unexplained", mutate.Report{Results: results(9, 0, 0, 1)}, true, "NOT EXPLAINED"},
		{"stale", mutate.Report{Results: results(9, 0, 0, 0), Stale: []mutate.Accepted{entry}}, true, "internal/a/old.go F drop"},
		{"nothing", mutate.Report{}, false, "0        0      0.0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.report.Folder = "internal/a"
			var out strings.Builder
			err := tell(&out, []mutate.Report{test.report})
			require.Contains(t, out.String(), test.says)
			if test.fails {
				require.ErrorContains(t, err, "internal/a: at least 85 percent")
			} else {
				require.NoError(t, err)
			}
		})
	}
}

func TestRun_Usage(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "accepted.txt")
	require.NoError(t, os.WriteFile(bad, []byte("nonsense\n"), 0o600))
	for want, args := range map[string][]string{
		"name a package":        {},
		"at least one mutant":   {"-p", "0", "./internal/a"},
		"not defined":           {"-x"},
		"no such file":          {"-accepted", bad + ".not", "./internal/a"},
		"does not begin with a": {"-accepted", bad, "./internal/a"},
	} {
		var stdout, stderr strings.Builder
		require.ErrorContains(t, run(t.Context(), args, &stdout, &stderr), want)
		require.Empty(t, stdout.String())
	}
	var stdout, stderr strings.Builder
	require.NoError(t, run(t.Context(), []string{"-h"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "REGEXP")
}

// The list of accepted survivors can be read, and no entry stands in it twice.
func TestAcceptedList(t *testing.T) {
	file, err := os.Open("accepted.txt")
	require.NoError(t, err)
	defer file.Close()
	all, err := mutate.ReadAccepted(file)
	require.NoError(t, err)
	seen := map[mutate.Key]bool{}
	for _, a := range all {
		require.False(t, seen[a.Key], "%s", a)
		seen[a.Key] = true
	}
}
