package archtest

import (
	"go/ast"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// startsDroid are the functions that start a droid, and where.
var startsDroid = map[string]string{
	"internal/droid startProcess": "where a session works, or alone in a directory of its own (Command.Alone)",
	"internal/droid Release":      "in a directory of its own",
	"internal/droid/login start":  "in a directory of its own",
}

// A droid runs what the directory brings that it is started in. So few functions start one, and
// each says where: one that is no session's in a directory of tempdir.Empty.
func TestWhereDroidIsStarted(t *testing.T) {
	m := readModule(t)
	var found []string
	for _, room := range []string{"internal/droid", "internal/droid/login"} {
		for _, f := range m.code(room) {
			for _, d := range f.file.Decls {
				if function, ok := d.(*ast.FuncDecl); ok && mentions(function, "child", "Command") {
					name := room + " " + function.Name.Name
					require.True(t, mentions(function, "tempdir", "Empty"), "%s starts a droid, and not in a directory of its own", name)
					found = append(found, name)
				}
			}
		}
	}
	for _, name := range found {
		require.NotEmpty(t, startsDroid[name], "%s starts a droid: say above where", name)
	}
	for name := range startsDroid {
		require.True(t, slices.Contains(found, name), "%s starts no droid any more", name)
	}
}

// mentions reports whether a function makes a value of a package's type, or calls its function.
func mentions(function *ast.FuncDecl, pkg, name string) (found bool) {
	is := func(e ast.Expr) bool {
		s, ok := e.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, ok := s.X.(*ast.Ident)
		return ok && x.Name == pkg && s.Sel.Name == name
	}
	ast.Inspect(function, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			found = found || is(n.Type)
		case *ast.CallExpr:
			found = found || is(n.Fun)
		}
		return true
	})
	return found
}
