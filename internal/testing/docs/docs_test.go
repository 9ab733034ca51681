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

const root = "../../.."

// TestEveryQuirkIsInTheTable: who adds a file for a quirk adds it to docs/quirks.md.
func TestEveryQuirkIsInTheTable(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "internal/quirks/*.go"))
	require.NoError(t, err)
	var quirks []string
	for _, path := range files {
		if strings.Contains(read(t, path), "\n// What droid does:") {
			quirks = append(quirks, "`quirks/"+filepath.Base(path)+"`")
		}
	}
	require.Greater(t, len(quirks), 15)
	require.Empty(t, missing(read(t, filepath.Join(root, "docs/quirks.md")), quirks))
}

// TestEveryRoomIsInTheTable: who adds a package says in docs/architecture.md what it is.
func TestEveryRoomIsInTheTable(t *testing.T) {
	var rooms []string
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == "testdata":
			return filepath.SkipDir
		}
		if code, _ := filepath.Glob(filepath.Join(path, "*.go")); d.IsDir() && len(code) > 0 {
			room, err := filepath.Rel(root, path)
			rooms = append(rooms, filepath.ToSlash(room))
			return err
		}
		return nil
	}))
	require.Greater(t, len(rooms), 20)
	require.Empty(t, missing(read(t, filepath.Join(root, "docs/architecture.md")), rooms))
}

// missing are the words that a text does not have, as whole words.
func missing(text string, words []string) (absent []string) {
	for _, word := range words {
		if !regexp.MustCompile(`(^|[^\w/])` + regexp.QuoteMeta(word) + `($|[^\w/])`).MatchString(text) {
			absent = append(absent, word)
		}
	}
	return absent
}

func TestMissing(t *testing.T) {
	require.Equal(t, []string{"internal/droid", "`quirks/b.go`"},
		missing("`internal/droid/stream` `quirks/a.go` internal/testing/archtest", []string{"internal/droid", "internal/droid/stream", "internal/testing/archtest", "`quirks/a.go`", "`quirks/b.go`"}))
}

// TestTestsThatAreNamedExist: the tests that pages name to show what they say ("e2e.TestX", "TestX").
func TestTestsThatAreNamedExist(t *testing.T) {
	known := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)`).FindAllStringSubmatch(read(t, path), -1) {
				known[m[1]], known[filepath.Base(filepath.Dir(path))+"."+m[1]] = true, true
			}
		}
		return err
	}))
	require.Greater(t, len(known), 1000)
	for path := range readDocuments(t, root) {
		for _, m := range regexp.MustCompile("`((?:\\w+\\.)?(?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(read(t, filepath.Join(root, path)), -1) {
			require.True(t, known[m[1]], "%s: there is no test %s", path, m[1])
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

var variablePattern = regexp.MustCompile(`\bDROID_ACP_[A-Z0-9_]*[A-Z0-9]\b`)

// readVariables returns the environment variables of this project that its programs, tests
// and scripts name.
func readVariables(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "node_modules" || name == "docs" && filepath.Base(filepath.Dir(path)) == "internal" || name == ".git"):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains([]string{".go", ".sh", ".yml", ".yaml", ".js", ".mjs"}, filepath.Ext(name)) && name != "Makefile" && name != "run":
			return nil
		}
		text, err := os.ReadFile(path)
		for _, variable := range variablePattern.FindAllString(string(text), -1) {
			found[variable] = true
		}
		return err
	}))
	return found
}

// wrongVariables are those that a document names and nothing reads.
func wrongVariables(path, text string, known map[string]bool) (wrong []string) {
	for _, variable := range variablePattern.FindAllString(text, -1) {
		if !known[variable] {
			wrong = append(wrong, path+": nothing reads "+variable)
		}
	}
	return wrong
}

func TestVariables(t *testing.T) {
	known := readVariables(t)
	require.Greater(t, len(known), 5)
	for path := range readDocuments(t, root) {
		require.Empty(t, wrongVariables(path, read(t, filepath.Join(root, path)), known))
	}
	require.Empty(t, wrongVariables("a.md", "`$DROID_ACP_MODE`, DROID_ACP_DROID=x", known))
	require.Len(t, wrongVariables("a.md", strings.Repeat("`$DROID_ACP_MOOD` ", 2), known), 2)
}
