package mutate

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
)

// opposite are the operators that change places.
var opposite = map[token.Token]struct {
	by Operator
	to token.Token
}{
	token.LAND: {Negate, token.LOR},
	token.LOR:  {Negate, token.LAND},
	token.EQL:  {Negate, token.NEQ},
	token.NEQ:  {Negate, token.EQL},
	token.LSS:  {Boundary, token.LEQ},
	token.LEQ:  {Boundary, token.LSS},
	token.GTR:  {Boundary, token.GEQ},
	token.GEQ:  {Boundary, token.GTR},
}

// swapOperator puts the opposite of a binary operator in its place.
func (f *finder) swapOperator(n *ast.BinaryExpr, by Operator) {
	if o, ok := opposite[n.Op]; ok && o.by == by {
		f.addAt(by, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), o.to.String())
	}
}

// negate makes a condition its opposite.
func (f *finder) negate(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.negateCondition(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			f.negateCondition(n.Cond)
		}
	case *ast.SwitchStmt:
		if n.Tag != nil {
			return
		}
		for _, s := range n.Body.List {
			for _, cond := range s.(*ast.CaseClause).List {
				f.negateCondition(cond)
			}
		}
	case *ast.ReturnStmt:
		for _, r := range n.Results {
			if f.isBool(r) {
				f.negateCondition(r)
			}
		}
	case *ast.BinaryExpr:
		f.swapOperator(n, Negate)
		if n.Op == token.LAND || n.Op == token.LOR {
			f.negateCondition(n.X)
			f.negateCondition(n.Y)
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.add(Negate, n, f.text(n.X))
		}
	}
}

// negateCondition negates e, unless e is a constant or of a form that is negated
// where it is visited itself.
func (f *finder) negateCondition(e ast.Expr) {
	if f.pkg.info.Types[e].Value != nil {
		return
	}
	switch inner := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		return
	case *ast.BinaryExpr:
		if inner.Op == token.EQL || inner.Op == token.NEQ {
			return
		}
	case *ast.Ident, *ast.SelectorExpr, *ast.CallExpr, *ast.IndexExpr:
		f.add(Negate, e, "!"+f.text(inner))
		return
	}
	f.add(Negate, e, "!("+f.text(ast.Unparen(e))+")")
}

func (f *finder) isBool(e ast.Expr) bool { return f.isBasic(e, types.IsBoolean) }

func (f *finder) isInteger(e ast.Expr) bool { return f.isBasic(e, types.IsInteger) }

func (f *finder) isBasic(e ast.Expr, info types.BasicInfo) bool {
	t := f.pkg.info.TypeOf(e)
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&info != 0
}

// boundary shifts where a comparison turns, a slice begins or ends, or an index points.
func (f *finder) boundary(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.swapOperator(n, Boundary)
		switch n.Op {
		case token.EQL, token.NEQ:
			f.shift(n.Y)
		case token.LSS, token.GEQ:
			if lit, ok := n.Y.(*ast.BasicLit); ok && lit.Kind == token.INT {
				f.settled[lit] = true // a <= 0 is a < 1
			}
		}
	case *ast.SliceExpr:
		f.shift(n.Low)
		f.shift(n.High)
	case *ast.IndexExpr:
		if _, isMap := f.pkg.info.TypeOf(n.X).Underlying().(*types.Map); !isMap {
			f.shift(n.Index)
		}
	}
}

// shift makes an integer one more, and n+1 just n. It leaves named constants to
// the operator for constants.
func (f *finder) shift(e ast.Expr) {
	_, isLiteral := e.(*ast.BasicLit)
	if e == nil || !f.isInteger(e) || f.pkg.info.Types[e].Value != nil && !isLiteral {
		return
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.BasicLit:
		f.settled[e] = true
		f.add(Boundary, e, oneMore(e.Value))
	case *ast.BinaryExpr:
		if one, ok := e.Y.(*ast.BasicLit); ok && one.Value == "1" && (e.Op == token.ADD || e.Op == token.SUB) {
			f.settled[one] = true
			f.add(Boundary, e, f.text(e.X))
			return
		}
		f.add(Boundary, e, f.text(e)+" + 1")
	default:
		f.add(Boundary, e, f.text(e)+" + 1")
	}
}

// oneMore is the literal of the number after that of an integer's literal.
func oneMore(literal string) string {
	if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return strconv.FormatInt(i+1, 10)
	}
	return "(" + literal + " + 1)"
}

// constant puts another value of the same type in the place of a constant.
func (f *finder) constant(n ast.Node) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if !f.settled[n] {
			f.add(Constant, n, otherLiteral(n))
		}
	case *ast.Ident:
		c, ok := f.pkg.info.Uses[n].(*types.Const)
		if !ok {
			return
		}
		if other := otherConstant(c); other != "" {
			f.add(Constant, n, other)
		}
	}
}

// otherLiteral is a literal of the kind of l with another value.
func otherLiteral(l *ast.BasicLit) string {
	switch {
	case l.Kind == token.STRING && len(l.Value) == len(`""`):
		return `"mutant"`
	case l.Kind == token.STRING:
		return `""`
	case l.Value == "1":
		return "0"
	case l.Kind == token.INT:
		return oneMore(l.Value)
	}
	return "(" + l.Value + " + 1)" // a rune or a fraction
}

// otherConstant names a constant that is declared where c is and has the type of c,
// but not its value: of several the one whose name begins most like that of c, as
// those of untyped constants may mean anything. It is empty where there is none.
func otherConstant(c *types.Const) string {
	switch {
	case c.Parent() == types.Universe && c.Name() == "true":
		return "false"
	case c.Parent() == types.Universe && c.Name() == "false":
		return "true"
	case c.Parent() == nil || c.Parent() == types.Universe:
		return "" // iota
	}
	best, alike := "", -1
	for _, name := range c.Parent().Names() {
		o, ok := c.Parent().Lookup(name).(*types.Const)
		if !ok || name == "_" || c.Exported() && !o.Exported() || !types.Identical(o.Type(), c.Type()) ||
			constant.Compare(o.Val(), token.EQL, c.Val()) {
			continue
		}
		if n := sameBeginning(name, c.Name()); n > alike {
			best, alike = name, n
		}
	}
	return best
}

// sameBeginning is how many bytes a and b have in common at their beginnings.
func sameBeginning(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
