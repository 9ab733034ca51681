package walls

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// TestFieldsAreWrittenWhereTheyStand: a field of Session, and of a struct that is a part
// of it, is written only in the file that declares it.
func TestFieldsAreWrittenWhereTheyStand(t *testing.T) {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps},
		module+"/internal/adapter")
	require.NoError(t, err)
	require.Len(t, pkgs, 1)
	p := pkgs[0]
	require.Empty(t, p.Errors)
	require.Empty(t, strayWrites(p.Fset, p.Syntax, p.TypesInfo, p.Types, "Session"))
}

// strayWrites are the writes to fields of a struct, and of its parts, outside of the
// files that declare these.
func strayWrites(fset *token.FileSet, files []*ast.File, info *types.Info, pkg *types.Package, name string) (found []string) {
	home := make(map[*types.Var]string) // the file of each field
	parts(pkg.Scope().Lookup(name).Type(), pkg, func(field *types.Var) {
		home[field] = fset.Position(field.Pos()).Filename
	})
	written := func(e ast.Expr) {
		for e != nil {
			switch x := e.(type) {
			case *ast.SelectorExpr:
				if v, ok := info.Uses[x.Sel].(*types.Var); ok && v.IsField() {
					if file, part := home[v.Origin()]; part && file != fset.Position(x.Pos()).Filename {
						found = append(found, fmt.Sprintf("%s: %s is written", fset.Position(x.Pos()), v.Name()))
					}
					if _, pointer := v.Type().Underlying().(*types.Pointer); pointer {
						return
					}
				}
				e = x.X
				if _, pointer := info.TypeOf(e).Underlying().(*types.Pointer); pointer {
					return
				}
			case *ast.IndexExpr:
				e = x.X
			case *ast.ParenExpr:
				e = x.X
			case *ast.StarExpr:
				e = x.X
			default:
				return
			}
		}
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, to := range n.Lhs {
					written(to)
				}
			case *ast.IncDecStmt:
				written(n.X)
			case *ast.UnaryExpr:
				if _, literal := n.X.(*ast.CompositeLit); n.Op == token.AND && !literal {
					written(n.X)
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear") && len(n.Args) > 0 {
					written(n.Args[0])
				}
			}
			return true
		})
	}
	sort.Strings(found)
	return found
}

// parts calls f with each field of a struct of the package, and of the structs of the
// package that are its fields, pointed to or not.
func parts(of types.Type, pkg *types.Package, f func(*types.Var)) {
	seen := make(map[types.Type]bool)
	var walk func(types.Type)
	walk = func(t types.Type) {
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		named, ok := types.Unalias(t).(*types.Named)
		if !ok || seen[named] || named.Obj().Pkg() != pkg || named.Obj().Name() == "Agent" {
			return
		}
		seen[named] = true
		s, ok := named.Underlying().(*types.Struct)
		if !ok {
			return
		}
		for i := range s.NumFields() {
			f(s.Field(i).Origin())
			walk(s.Field(i).Type())
		}
	}
	walk(of)
}
