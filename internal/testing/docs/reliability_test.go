package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	namedTest = regexp.MustCompile("`([\\w-]+\\.Test\\w+)`")
	topTest   = regexp.MustCompile(`(?m)^func (Test\w+)\(\w+ \*testing\.T\)`)
)

// missingTests returns the rows of the page's tables that name no test, and the tests that are not in the tree.
func missingTests(page string, tests map[string]bool) (wrong []string) {
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| fault |") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		named := namedTest.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(cells) != 4 || len(named) == 0 {
			wrong = append(wrong, line)
		}
		for _, m := range named {
			if !tests[m[1]] {
				wrong = append(wrong, m[1])
			}
		}
	}
	return wrong
}

// readTests returns the tests of the tree, as PACKAGE.NAME.
func readTests(t *testing.T) map[string]bool {
	t.Helper()
	tests := make(map[string]bool)
	for _, dir := range []string{"cmd", "internal", "e2e"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "testdata" {
				return filepath.SkipDir
			}
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			for _, m := range topTest.FindAllStringSubmatch(string(content), -1) {
				tests[filepath.Base(filepath.Dir(path))+"."+m[1]] = true
			}
			return err
		}))
	}
	return tests
}

// TestReliability: each row of docs/reliability.md names a test, and each test that it names exists.
func TestReliability(t *testing.T) {
	tests := readTests(t)
	require.Greater(t, len(tests), 1000)
	page := read(t, filepath.Join(root, "docs", "reliability.md"))
	require.Greater(t, strings.Count(page, "\n| "), 40)
	require.Empty(t, missingTests(page, tests))
}

// TestMissingTestsAreFound: a row without a test, and a test that does not exist.
func TestMissingTestsAreFound(t *testing.T) {
	tests := map[string]bool{"droid.TestA": true}
	const head = "| fault | what | kept | test |\n|---|---|---|---|\n"
	require.Empty(t, missingTests(head+"| a | b | c | `droid.TestA` |\n", tests))
	require.Equal(t, []string{"adapter.TestA"}, missingTests(head+"| a | b | c | `droid.TestA`, `adapter.TestA` |\n", tests))
	for _, row := range []string{"| a | b | c | none |", "| a | b | `droid.TestA` |"} {
		require.True(t, slices.Contains(missingTests(head+row+"\n", tests), row), row)
	}
}
