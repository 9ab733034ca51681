package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// drop removes a statement, or makes the values that it returns zero. Above are the
// nodes around n, the outermost first.
func (f *finder) drop(n ast.Node, above []ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			f.dropStatement(n)
		}
	case *ast.BranchStmt:
		if n.Label == nil {
			f.dropStatement(n)
		}
	case *ast.ReturnStmt:
		if len(n.Results) == 0 {
			f.dropStatement(n)
		} else {
			f.returnZero(n, f.results(above))
		}
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt:
		f.dropStatement(n)
	}
}

func (f *finder) dropStatement(n ast.Node) { f.add(Drop, n, f.uses(n)) }

// uses is a statement that does nothing but to use the local variables that n uses,
// so that what is left compiles. It is empty where n uses none.
func (f *finder) uses(n ast.Node) string {
	var names []string
	ast.Inspect(n, func(inner ast.Node) bool {
		id, ok := inner.(*ast.Ident)
		if !ok {
			return true
		}
		v, ok := f.pkg.info.Uses[id].(*types.Var)
		declaredInside := ok && n.Pos() <= v.Pos() && v.Pos() < n.End()
		if ok && v.Kind() == types.LocalVar && !declaredInside && !slices.Contains(names, id.Name) {
			names = append(names, id.Name)
		}
		return true
	})
	if len(names) == 0 {
		return ""
	}
	return strings.Repeat("_, ", len(names)-1) + "_ = " + strings.Join(names, ", ")
}

// results are those of the innermost function of above.
func (f *finder) results(above []ast.Node) *types.Tuple {
	for _, n := range slices.Backward(above) {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return f.pkg.info.Defs[n.Name].Type().(*types.Signature).Results()
		case *ast.FuncLit:
			return f.pkg.info.TypeOf(n).(*types.Signature).Results()
		}
	}
	return nil
}

// returnZero makes a return statement return the zero values of its function.
func (f *finder) returnZero(n *ast.ReturnStmt, results *types.Tuple) {
	var values []string
	for v := range results.Variables() {
		values = append(values, f.zero(v.Type()))
	}
	text := "return " + strings.Join(values, ", ")
	if text == oneLine(f.text(n)) || len(values) == 1 && f.zeroAlready(n.Results[0]) {
		return
	}
	if uses := f.uses(n); uses != "" {
		text = uses + "; " + text
	}
	f.add(Drop, n, text)
}

// zeroAlready reports whether e is a struct whose fields are zero, or a constant, which
// the operator for constants changes.
func (f *finder) zeroAlready(e ast.Expr) bool {
	lit, ok := e.(*ast.CompositeLit)
	if !ok {
		return f.pkg.info.Types[e].Value != nil
	}
	for _, elt := range lit.Elts {
		if field, ok := elt.(*ast.KeyValueExpr); ok {
			elt = field.Value
		}
		value := f.pkg.info.Types[elt].Value
		if value == nil || !slices.Contains([]string{"0", `""`, "false"}, value.ExactString()) {
			return false
		}
	}
	_, isStruct := f.pkg.info.TypeOf(e).Underlying().(*types.Struct)
	return isStruct
}

// zero is an expression for the zero value of a type.
func (f *finder) zero(t types.Type) string {
	if _, ok := t.(*types.TypeParam); !ok {
		switch u := t.Underlying().(type) {
		case *types.Basic:
			switch {
			case u.Info()&types.IsBoolean != 0:
				return "false"
			case u.Info()&types.IsString != 0:
				return `""`
			case u.Info()&types.IsNumeric != 0:
				return "0"
			}
			return "nil"
		case *types.Array, *types.Struct:
		default:
			return "nil"
		}
	}
	return "*new(" + types.TypeString(t, func(p *types.Package) string {
		if p.Name() == f.file.syntax.Name.Name {
			return ""
		}
		return p.Name()
	}) + ")"
}
