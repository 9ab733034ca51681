package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
)

// module is the module's name, which may change (make rename).
var module = strings.TrimSuffix(reflect.TypeFor[protocol.ClientCapabilities]().PkgPath(), "/internal/acp/protocol")

// source is one Go file.
type source struct {
	name string // from the module's root, with slashes
	file *ast.File
	test bool
}

// tree is the source of a module, or of an invented one.
type tree struct {
	fset  *token.FileSet
	rooms map[string][]source // by the import path without the module's name
}

// parse reads files, by their names from the module's root.
func parse(t *testing.T, files map[string]string) *tree {
	t.Helper()
	m, err := parseFiles(files)
	require.NoError(t, err)
	return m
}

func parseFiles(files map[string]string) (*tree, error) {
	all := &tree{token.NewFileSet(), make(map[string][]source)}
	for name, text := range files {
		file, err := parser.ParseFile(all.fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		room := path.Dir(name)
		all.rooms[room] = append(all.rooms[room], source{name, file, strings.HasSuffix(name, "_test.go")})
	}
	return all, nil
}

// readModule reads the module's own files, internal and cmd, once for all tests.
func readModule(t *testing.T) *tree {
	t.Helper()
	m, err := readOnce()
	require.NoError(t, err)
	require.Greater(t, len(m.rooms), 20)
	return m
}

var readOnce = sync.OnceValues(func() (*tree, error) {
	files := make(map[string]string)
	for _, dir := range []string{"internal", "cmd"} {
		err := fs.WalkDir(os.DirFS("../../.."), dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "testdata" {
				if err == nil {
					err = fs.SkipDir
				}
				return err
			}
			if d.IsDir() || !strings.HasSuffix(name, ".go") {
				return nil
			}
			text, err := os.ReadFile("../../../" + name)
			files[name] = string(text)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return parseFiles(files)
})

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
