package mutate

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"strings"
)

// finder collects the mutants of one file.
type finder struct {
	pkg     *Package
	file    *sourceFile
	fn      string            // what the mutants found now belong to
	settled map[ast.Node]bool // integers that Boundary has changed already
	seen    map[Mutant]bool   // so that no change is made twice
	out     []Mutant
}

// sites returns all mutants of a package in the order of the source.
func sites(p *Package) []Mutant {
	var all []Mutant
	for _, file := range p.files {
		f := &finder{pkg: p, file: file, settled: map[ast.Node]bool{}, seen: map[Mutant]bool{}}
		for _, decl := range file.syntax.Decls {
			f.decl(decl)
		}
		all = append(all, f.out...)
	}
	return all
}

// decl collects the mutants of one declaration.
func (f *finder) decl(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		f.fn = funcName(d)
		f.walk(d)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				f.fn = v.Names[0].Name
				for _, value := range v.Values {
					f.walk(value)
				}
			}
		}
	}
}

// funcName is "Type.Method" or "Func".
func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok {
		t = index.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name + "." + d.Name.Name
	}
	return d.Name.Name
}

// walk visits what is below root and lets each operator look at each node.
func (f *finder) walk(root ast.Node) {
	ast.PreorderStack(root, nil, func(n ast.Node, above []ast.Node) bool {
		switch n.(type) {
		case *ast.StructType, *ast.ArrayType, *ast.ImportSpec:
			return false // tags, lengths and paths are no values
		}
		f.negate(n)
		f.boundary(n)
		f.drop(n, above)
		f.constant(n)
		return true
	})
}

// add notes the mutant that has text in the place of n.
func (f *finder) add(op Operator, n ast.Node, text string) { f.addAt(op, n.Pos(), n.End(), text) }

// addAt notes the mutant that has text between two places.
func (f *finder) addAt(op Operator, from, to token.Pos, text string) {
	src := f.file.src
	m := Mutant{
		Line:  f.pkg.fset.Position(from).Line,
		file:  f.file,
		begin: f.pkg.fset.Position(from).Offset,
		end:   f.pkg.fset.Position(to).Offset,
		text:  text,
	}
	lineBegin := 1 + strings.LastIndexByte(string(src[:m.begin]), '\n')
	lineEnd := len(src)
	if i := strings.IndexByte(string(src[m.end:]), '\n'); i >= 0 {
		lineEnd = m.end + i
	}
	m.Key = Key{
		Package: f.pkg.Folder, File: filepath.Base(f.file.path), Func: f.fn, Operator: op,
		Before: oneLine(string(src[lineBegin:lineEnd])),
		After:  oneLine(string(src[lineBegin:m.begin]) + text + string(src[m.end:lineEnd])),
	}
	if unique := (Mutant{file: m.file, begin: m.begin, end: m.end, text: text}); !f.seen[unique] {
		f.seen[unique] = true
		f.out = append(f.out, m)
	}
}

// text is the source of a node.
func (f *finder) text(n ast.Node) string {
	return string(f.file.src[f.pkg.fset.Position(n.Pos()).Offset:f.pkg.fset.Position(n.End()).Offset])
}

// oneLine makes all white space single spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
