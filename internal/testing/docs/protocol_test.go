package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// methodPattern is a method of droid's, as the code has it.
var methodPattern = regexp.MustCompile(`^droid\.[a-z_]+$`)

// wireNames are the methods that the code of a directory names, and the types of
// notifications that its decoder knows.
func wireNames(t *testing.T, dir string) (methods, types []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil && methodPattern.MatchString(s) && s != "droid.exe" {
					methods = append(methods, s)
				}
			}
			if v, ok := n.(*ast.ValueSpec); ok && v.Names[0].Name == "kinds" {
				types = append(types, keys(v.Values[0].(*ast.CompositeLit))...)
			}
			return true
		})
	}
	return methods, types
}

// keys are the keys of a map.
func keys(m *ast.CompositeLit) (texts []string) {
	for _, e := range m.Elts {
		s, _ := strconv.Unquote(e.(*ast.KeyValueExpr).Key.(*ast.BasicLit).Value)
		texts = append(texts, s)
	}
	return texts
}

// rows are the names in backquotes in the first column of the tables under a heading.
func rows(text, heading string) (found []string) {
	_, section, _ := strings.Cut(text, "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range quotedPattern.FindAllStringSubmatch(cells[1], -1) {
				found = append(found, m[1])
			}
		}
	}
	return found
}

func unique(names []string) []string {
	names = slices.Clone(names)
	sort.Strings(names)
	return slices.Compact(names)
}

// TestProtocolNamesWhatTheCodeKnows: docs/protocol.md has each method and each type of
// notification that the code knows, and no other.
func TestProtocolNamesWhatTheCodeKnows(t *testing.T) {
	text := read(t, filepath.Join(root, "docs/protocol.md"))
	methods, types := wireNames(t, filepath.Join(root, "internal/droid/stream"))
	more, _ := wireNames(t, filepath.Join(root, "internal/droid"))
	require.Greater(t, len(types), 20)
	require.Equal(t, unique(types), unique(rows(text, "Notifications")))

	methods = slices.DeleteFunc(append(methods, more...), func(m string) bool { return m == "droid.session_notification" })
	require.Greater(t, len(methods), 15)
	inTables := slices.DeleteFunc(append(rows(text, "Requests to droid"), rows(text, "Requests of droid")...), func(name string) bool {
		return !methodPattern.MatchString(name) // the options of a permission have a table, too
	})
	require.Equal(t, unique(methods), unique(inTables))
	require.Contains(t, text, "`droid.session_notification`")

	require.Equal(t, []string{"a", "b"}, rows("\n## Other\n| `x` | |\n## It\nword `no`\n| `a` | `no` |\n| `b`, c | |\n## Next\n| `y` | |\n", "It"))
}
