package mutate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Package is a package whose types are known, with its source.
type Package struct {
	Dir    string // absolute
	Folder string // below the module's root, with slashes
	root   string // the module's root
	fset   *token.FileSet
	files  []*sourceFile
	info   *types.Info
}

// sourceFile is a file of a package, tests excepted.
type sourceFile struct {
	path   string
	src    []byte
	syntax *ast.File
}

// listed is what go list tells of a package.
type listed struct {
	ImportPath string
	Dir        string
	Export     string // the file with its types
	GoFiles    []string
	DepOnly    bool
	Module     *struct{ Dir string }
}

// Load reads the package that pattern names, as go list run in dir understands it.
// The pattern must name exactly one package of a module, and that must compile.
func Load(ctx context.Context, dir, pattern string) (*Package, error) {
	all, err := list(ctx, dir, pattern)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	var found []listed
	for _, l := range all {
		exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			found = append(found, l)
		}
	}
	if len(found) != 1 || found[0].Module == nil {
		return nil, fmt.Errorf("%s names %d packages; mutants are made of one package of a module", pattern, len(found))
	}
	return check(found[0], exports)
}

// list asks go list for the packages of pattern and all that they import.
func list(ctx context.Context, dir, pattern string) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly,Module", "--", pattern)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("listing %s: %w", pattern, err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l listed
		if err := dec.Decode(&l); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading what go list says of %s: %w", pattern, err)
		}
		all = append(all, l)
	}
}

// check parses a package and finds the types in it.
func check(l listed, exports map[string]string) (*Package, error) {
	folder, err := filepath.Rel(l.Module.Dir, l.Dir)
	if err != nil {
		return nil, err
	}
	p := &Package{Dir: l.Dir, Folder: filepath.ToSlash(folder), root: l.Module.Dir, fset: token.NewFileSet()}
	var syntax []*ast.File
	for _, name := range l.GoFiles {
		f := &sourceFile{path: filepath.Join(l.Dir, name)}
		if f.src, err = os.ReadFile(f.path); err != nil {
			return nil, err
		}
		if f.syntax, err = parser.ParseFile(p.fset, f.path, f.src, parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		p.files = append(p.files, f)
		syntax = append(syntax, f.syntax)
	}
	p.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Defs:  map[*ast.Ident]types.Object{},
		Uses:  map[*ast.Ident]types.Object{},
	}
	config := types.Config{Importer: importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	if _, err := config.Check(l.ImportPath, p.fset, syntax, p.info); err != nil {
		return nil, fmt.Errorf("the types of %s: %w", p.Folder, err)
	}
	return p, nil
}
