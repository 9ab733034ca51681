package docs

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write where quirks are handled into docs/dev/protocol.md")

var (
	quirkPattern = regexp.MustCompile(`(?:TestQuirk|\b[Qq]uirks?:? )(\d+(?:(?:, | and )\d+)*)`)
	numberInList = regexp.MustCompile(`\d+`)
	linePattern  = regexp.MustCompile(`(?m)//.*$`)
	testPattern  = regexp.MustCompile(`(?m)((?:^//.*\n)*)^func (Test\w+)\(`)
	namePattern  = regexp.MustCompile(`^TestQuirk\d+_`)
	rowPattern   = regexp.MustCompile(`(?m)^\| (\d+) \| ([^|\n]*) \|[^|\n]*\|[^|\n]*\|$`)
)

// quirksIn are the numbers of the quirks that a comment, or the name of a test, is about.
func quirksIn(text string) (numbers []int) {
	for _, found := range quirkPattern.FindAllStringSubmatch(text, -1) {
		for _, digits := range numberInList.FindAllString(found[1], -1) {
			n, _ := strconv.Atoi(digits)
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// readQuirks returns, by number, the files whose comments name a quirk, and the tests that do.
func readQuirks(t *testing.T) (files, tests map[int][]string) {
	t.Helper()
	files, tests = map[int][]string{}, map[int][]string{}
	add := func(to map[int][]string, text, what string) {
		for _, n := range quirksIn(text) {
			if !slices.Contains(to[n], what) {
				to[n] = append(to[n], what)
			}
		}
	}
	for _, dir := range []string{"internal", "e2e"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && slices.Contains([]string{"testing", "testdata"}, d.Name()) {
				return filepath.SkipDir
			}
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			content, err := os.ReadFile(path)
			if !strings.HasSuffix(path, "_test.go") {
				name, _ := filepath.Rel(filepath.Join(root, "internal"), path)
				add(files, strings.Join(linePattern.FindAllString(string(content), -1), "\n"), "`"+filepath.ToSlash(name)+"`")
				return err
			}
			for _, found := range testPattern.FindAllStringSubmatch(string(content), -1) {
				name := found[2]
				if begins := namePattern.FindString(name); begins != "" {
					name = begins + "…"
				}
				add(tests, found[1]+found[2], "`"+filepath.Base(filepath.Dir(path))+"."+name+"`")
			}
			return err
		}))
	}
	return files, tests
}

// TestQuirks: the table of docs/dev/protocol.md has each quirk that the code names, with where it is
// handled and which tests show it.
func TestQuirks(t *testing.T) {
	path := filepath.Join(root, "docs", "dev", "protocol.md")
	page, rows := read(t, path), map[int]bool{}
	files, tests := readQuirks(t)
	list := func(of []string) string {
		if len(of) == 0 {
			return "–"
		}
		return strings.Join(of, ", ")
	}
	written := rowPattern.ReplaceAllStringFunc(page, func(row string) string {
		cells := rowPattern.FindStringSubmatch(row)
		n, _ := strconv.Atoi(cells[1])
		rows[n] = true
		return fmt.Sprintf("| %d | %s | %s | %s |", n, cells[2], list(files[n]), list(tests[n]))
	})
	for _, named := range []map[int][]string{files, tests} {
		for n, where := range named {
			require.True(t, rows[n], "docs/dev/protocol.md has no quirk %d, of which %v tell", n, where)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(written), 0o644))
		return
	}
	require.Equal(t, written, page, "go test ./internal/testing/docs -run TestQuirks -update writes it")
}
