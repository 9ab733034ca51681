package archtest

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
)

// module is the module's name, which may change (make rename).
var module = strings.TrimSuffix(reflect.TypeFor[protocol.ClientCapabilities]().PkgPath(), "/internal/acp/protocol")

// A tree is the source of a module, or of an example: the files of each package that are no tests, and those that are,
// by the package's path without the module's name.
type tree struct {
	fset        *token.FileSet
	code, tests map[string][]*ast.File
}

// parse reads files, by their names from the module's root.
func parse(t *testing.T, files map[string]string) *tree {
	t.Helper()
	m := &tree{token.NewFileSet(), make(map[string][]*ast.File), make(map[string][]*ast.File)}
	for name, text := range files {
		file, err := parser.ParseFile(m.fset, name, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		into := m.code
		if strings.HasSuffix(name, "_test.go") {
			into = m.tests
		}
		into[path.Dir(name)] = append(into[path.Dir(name)], file)
	}
	return m
}

// readModule reads the module's own files.
func readModule(t *testing.T) *tree {
	t.Helper()
	files, root := make(map[string]string), os.DirFS("../../..")
	for _, pattern := range []string{"cmd/*/*.go", "internal/*/*.go", "internal/*/*/*.go", "internal/*/*/*/*.go", "internal/*/*/*/*/*.go"} {
		names, err := fs.Glob(root, pattern)
		require.NoError(t, err)
		for _, name := range names {
			text, err := fs.ReadFile(root, name)
			require.NoError(t, err)
			files[name] = string(text)
		}
	}
	require.Greater(t, len(files), 500)
	return parse(t, files)
}

// imports returns the paths that a file imports, by their names in the file.
func imports(file *ast.File) map[string]string {
	byName := make(map[string]string)
	for _, spec := range file.Imports {
		of, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
		name := path.Base(of)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		byName[name] = of
	}
	return byName
}

// uses returns the names of other packages in a node of a file ("os.Open"), "go", "chan" and "select" for these
// statements and types, and "connect" for a call that may reach another machine.
func uses(file *ast.File, node ast.Node) map[string]bool {
	known, found := imports(file), make(map[string]bool)
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found["go"] = true
		case *ast.ChanType:
			found["chan"] = true
		case *ast.SelectStmt:
			found["select"] = true
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			if ok && known["net"] == "net" && connects.MatchString(f.Sel.Name) && !slices.ContainsFunc(n.Args, isSocketFile) {
				found["connect"] = true
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && known[x.Name] != "" {
				found[known[x.Name]+"."+n.Sel.Name] = true
			}
		}
		return true
	})
	return found
}

var connects = regexp.MustCompile(`^(Dial|Listen)`)

// isSocketFile reports whether an argument names a network that is a file of this machine.
func isSocketFile(arg ast.Expr) bool {
	lit, ok := arg.(*ast.BasicLit)
	return ok && lit.Value == `"unix"`
}

// all returns the imports and uses of a package.
func (m *tree) all(pkg string) map[string]bool {
	found := make(map[string]bool)
	for _, file := range m.code[pkg] {
		for use := range uses(file, file) {
			found[use] = true
		}
		for _, of := range imports(file) {
			found[of] = true
		}
	}
	return found
}

// text returns the source of a node.
func (m *tree) text(n ast.Node) string {
	var b strings.Builder
	_ = printer.Fprint(&b, m.fset, n) // a Builder takes all
	return b.String()
}
