package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	gotypes "go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func eachFunction(t *testing.T, dir string, f func(*ast.FuncDecl)) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, dir))
	require.NoError(t, err)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, dir, e.Name()), nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				f(fn)
			}
		}
	}
}

// cases are the types, as "quirks.Text", that the type switch of a function has cases for.
func cases(t *testing.T, dir, name string) (types []string) {
	eachFunction(t, dir, func(f *ast.FuncDecl) {
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.CaseClause); ok && f.Name.Name == name {
				for _, e := range c.List {
					types = append(types, gotypes.ExprString(e))
				}
			}
			return true
		})
	})
	return unique(types)
}

// namesWhere are the names in backquotes in one column, of the rows of which another column
// does not begin with "–".
func namesWhere(text, heading string, names, with int) (found []string) {
	_, section, _ := strings.Cut(text, "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 2 && !strings.HasPrefix(strings.TrimSpace(cells[with]), "–") {
			for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[names], -1) {
				found = append(found, m[1])
			}
		}
	}
	return unique(found)
}

// TestEventsHaveARow: docs/events.md has each event of droid, what decodes it, and each honest
// event, and says which room has a case for it.
func TestEventsHaveARow(t *testing.T) {
	text := read(t, filepath.Join(root, "docs/events.md"))
	const said, honest = "What droid says", "Honest events"

	var kinds, types []string // as the methods Kind of droid/stream and honest of quirks have them
	eachFunction(t, "internal/droid/stream", func(f *ast.FuncDecl) {
		if f.Name.Name == "Kind" && f.Recv != nil && typeName(f.Recv.List[0].Type) != "MCPServer" {
			types = append(types, "stream."+typeName(f.Recv.List[0].Type))
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok {
					kinds = append(kinds, strings.Trim(lit.Value, `"`))
				}
				return true
			})
		}
	})
	require.Greater(t, len(kinds), 20)
	require.Equal(t, unique(kinds), unique(rows(text, said)))
	require.Equal(t, unique(types), namesWhere(text, said, 2, 1))
	require.Equal(t, cases(t, "internal/quirks", "Push"), namesWhere(text, said, 2, 3))

	var made []string
	eachFunction(t, "internal/quirks", func(f *ast.FuncDecl) {
		if f.Name.Name == "honest" && typeName(f.Recv.List[0].Type) != "Other" {
			made = append(made, "quirks."+typeName(f.Recv.List[0].Type))
		}
	})
	listed := rows(text, honest)
	require.Equal(t, unique(made), unique(slices.DeleteFunc(slices.Clone(listed), func(name string) bool { return !strings.HasPrefix(name, "quirks.") })))
	require.Equal(t, cases(t, "internal/show", "show"), namesWhere(text, honest, 1, 2))
	require.Equal(t, cases(t, "internal/adapter", "heed"), namesWhere(text, honest, 1, 3))
	for _, passes := range namesWhere(text, said, 2, 1) {
		if !slices.Contains(namesWhere(text, said, 2, 3), passes) {
			require.Contains(t, listed, passes, "it passes as it is, so somebody has to do something")
		}
	}
	for _, name := range namesWhere(text, said, 4, 1) {
		if name != "Calls.HeardHooks" {
			require.Contains(t, listed, "quirks."+name)
		}
	}
}

// typeName is the name of a method's type.
func typeName(e ast.Expr) string {
	if to, ok := e.(*ast.StarExpr); ok {
		e = to.X
	}
	return gotypes.ExprString(e)
}
