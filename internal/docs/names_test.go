package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
)

// names are what a module declares, in tests too and for every system, and what it uses
// of other modules.
type names struct {
	byPackage map[string]map[string]bool // "View", "View.Event" by "show"
	all       map[string]bool            // the same in any package
	byFile    map[string]map[string]bool // the same by "internal/show/view.go"
	used      map[string]bool            // "acp.Connection"
}

func readNames(root string) (*names, error) {
	n := &names{byPackage: map[string]map[string]bool{}, all: map[string]bool{}, byFile: map[string]map[string]bool{}, used: map[string]bool{}}
	return n, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go":
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		path, err = filepath.Rel(root, path)
		n.addFile(filepath.ToSlash(path), file)
		return err
	})
}

func (n *names) addFile(path string, file *ast.File) {
	n.byFile[path] = map[string]bool{}
	pkg := strings.TrimSuffix(file.Name.Name, "_test")
	if n.byPackage[pkg] == nil {
		n.byPackage[pkg] = map[string]bool{}
	}
	add := func(name string) { n.byPackage[pkg][name], n.all[name], n.byFile[path][name] = true, true, true }
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				add(decl.Name.Name)
			} else {
				add(receiver(decl.Recv.List[0].Type) + "." + decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				addSpec(spec, add)
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if sel, ok := node.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && imports(file, pkg.Name) {
				n.used[pkg.Name+"."+sel.Sel.Name] = true
			}
		}
		return true
	})
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr: // of a generic type
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// addSpec adds types with their fields or methods, constants and variables.
func addSpec(spec ast.Spec, add func(string)) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			add(name.Name)
		}
	case *ast.TypeSpec:
		add(spec.Name.Name)
		var members *ast.FieldList
		switch t := spec.Type.(type) {
		case *ast.StructType:
			members = t.Fields
		case *ast.InterfaceType:
			members = t.Methods
		default:
			return
		}
		for _, member := range members.List {
			for _, name := range member.Names {
				add(spec.Name.Name + "." + name.Name)
			}
		}
	}
}

// imports reports whether a file imports a package of another module by that name.
func imports(file *ast.File, name string) bool {
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if strings.Contains(path, "droid-acp/internal/") {
			continue
		}
		if spec.Name != nil && spec.Name.Name == name || spec.Name == nil && path[strings.LastIndex(path, "/")+1:] == name {
			return true
		}
	}
	return false
}

// have reports whether there is such a name: X, Type.Member, package.X or
// package.Type.Member; with "…" at its end, whether one begins so.
func (n *names) have(name string) bool {
	name = strings.TrimSuffix(name, "()")
	if n.used[name] || has(n.all, name) {
		return true
	}
	pkg, rest, qualified := strings.Cut(name, ".")
	return qualified && has(n.byPackage[pkg], rest)
}

// hasFile reports whether there is a Go file of that path, relative to the repository or
// to internal.
func (n *names) hasFile(path string) bool {
	return n.byFile[path] != nil || n.byFile["internal/"+path] != nil
}

// standsIn reports whether a file declares a name. The package before the name, if any,
// is not looked at.
func (n *names) standsIn(path, name string) bool {
	for _, path := range []string{path, "internal/" + path} {
		_, rest, qualified := strings.Cut(name, ".")
		if has(n.byFile[path], name) || qualified && has(n.byFile[path], rest) {
			return true
		}
	}
	return false
}

func has(set map[string]bool, name string) bool {
	begin, isBeginning := strings.CutSuffix(name, "…")
	if !isBeginning {
		return set[name]
	}
	for name := range set {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	return false
}
