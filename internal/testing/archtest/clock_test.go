package archtest

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wallClock matches times without a reading of the monotonic clock. What is measured with one is wrong by as much as the clock is set.
var wallClock = regexp.MustCompile(`\btime\.Unix(Milli|Micro)?\(|\bModTime\(\)|\bchanged\(|\.(Unix(Nano|Milli|Micro)?|UTC|Local|Round|In)\(`)

// ageOfFiles are the functions that may measure such a time, each with what happens if the clock is set.
var ageOfFiles = map[string]string{
	"Files.claim":           "set back, it leaves an entry that no process can lock for later; set forward, another process may still work on it",
	"Files.replayEntry":     "the same",
	"HasUnsaved":            "set back, it does not ask the editor, as within 5 s of a change",
	"Server.loadUnfinished": "set forward by a month, an answer that nobody has fetched is deleted early",
}

// TestDurationsAreMonotonic: the clock may be set while the program runs. Nothing waits longer or shorter for that, but for the ages of files.
func TestDurationsAreMonotonic(t *testing.T) {
	wrong := wallDurations(readModule(t))
	for where := range ageOfFiles {
		require.Contains(t, wrong, where, "it measures no such time any more")
		delete(wrong, where)
	}
	require.Empty(t, wrong, "durations of the wall clock, by the function that measures them")
}

// wallDurations returns the durations that are measured with the wall clock, by function.
func wallDurations(m *tree) map[string][]string {
	wrong := make(map[string][]string)
	for _, files := range m.code {
		for _, file := range files {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				ast.Inspect(f, func(n ast.Node) bool {
					call, ok := n.(*ast.CallExpr)
					switch {
					case !ok:
						return true
					case strings.HasSuffix(m.text(call), ".Round(0)"): // removes the reading of the monotonic clock
					case !slices.Contains([]string{"time.Since", "time.Until"}, m.text(call.Fun)) || !wallClock.MatchString(m.text(call.Args[0])):
						return true
					}
					wrong[nameOf(m, f)] = append(wrong[nameOf(m, f)], m.text(call))
					return true
				})
			}
		}
	}
	return wrong
}

// TestWallDurationsAreSeen: each form of such a measurement is found.
func TestWallDurationsAreSeen(t *testing.T) {
	for text, seen := range map[string]bool{
		`time.Since(time.Unix(0, began))`: true,
		`time.Until(info.ModTime())`:      true,
		`time.Since(began.UTC())`:         true,
		`since = now.Round(0)`:            true,
		`time.Since(began)`:               false,
		`time.Until(now.Add(limit))`:      false,
		`sort(info.ModTime())`:            false,
	} {
		m := parse(t, map[string]string{"internal/x/x.go": "package x\nfunc F() {" + text + "}"})
		require.Equal(t, seen, len(wallDurations(m)) > 0, text)
	}
}
