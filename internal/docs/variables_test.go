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
