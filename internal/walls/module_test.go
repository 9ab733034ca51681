package walls

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
)

// module is the module's name, which may change (make rename).
var module = func() string {
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		panic(err)
	}
	return modfile.ModulePath(text)
}()

// source is one Go file.
type source struct {
	name  string // from the module's root, with slashes
	file  *ast.File
	lines int
	test  bool
}

// tree is the source of a module, or of an invented one.
type tree struct {
	fset  *token.FileSet
	rooms map[string][]source // by the import path without the module's name
}

// parse reads files, by their names from the module's root.
func parse(t *testing.T, files map[string]string) *tree {
	t.Helper()
	all := &tree{token.NewFileSet(), make(map[string][]source)}
	for name, text := range files {
		file, err := parser.ParseFile(all.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		room := path.Dir(name)
		all.rooms[room] = append(all.rooms[room], source{name, file, strings.Count(text, "\n"), strings.HasSuffix(name, "_test.go")})
	}
	return all
}

// readModule reads the module's own files: internal and cmd.
func readModule(t *testing.T) *tree {
	t.Helper()
	root := filepath.Join("..", "..")
	files := make(map[string]string)
	for _, dir := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "testdata" {
				if err == nil {
					err = fs.SkipDir
				}
				return err
			}
			if d.IsDir() || !strings.HasSuffix(file, ".go") {
				return nil
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, file)
			files[filepath.ToSlash(name)] = string(text)
			return err
		})
		require.NoError(t, err)
	}
	require.Greater(t, len(files), 100)
	return parse(t, files)
}

// code are the files of a room that are no tests.
func (m *tree) code(room string) (files []source) {
	for _, s := range m.rooms[room] {
		if !s.test {
			files = append(files, s)
		}
	}
	return files
}

// imports are what a file imports, by the names it has there.
func (s source) imports() map[string]string {
	byName := make(map[string]string)
	for _, spec := range s.file.Imports {
		of, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
		name := path.Base(of)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		byName[name] = of
	}
	return byName
}

// ownImports are the rooms that a room imports.
func (m *tree) ownImports(room string) map[string]bool {
	rooms := make(map[string]bool)
	for _, s := range m.code(room) {
		for _, of := range s.imports() {
			if own, ok := strings.CutPrefix(of, module+"/"); ok {
				rooms[own] = true
			}
		}
	}
	return rooms
}
