package archtest

import (
	"go/ast"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What brings state brings a package, with fields that nobody else can reach. So Session has
// no more fields than this, nor with those of its parts that internal/adapter declares, and no
// more methods: what is about one part belongs to that. Who takes some away lowers the number.
const (
	maxFields = 20
	maxState  = 28

	maxMethods = 100
)

func TestStateBringsAPackage(t *testing.T) {
	own, all := fields(readModule(t), "Session")
	require.Greater(t, own, 5)
	require.LessOrEqual(t, own, maxFields, "fields of Session: give what is new a package, and move another field into the package that it is about")
	require.LessOrEqual(t, all, maxState, "fields of Session and of its parts: give what is new a package")
	require.LessOrEqual(t, methods(readModule(t), "Session"), maxMethods, "methods of Session: they belong to the part that they are about")

	own, all = fields(parse(t, map[string]string{
		"internal/adapter/a.go": "package adapter\ntype Session struct { *part; a, b int; again part; agent *Agent; other show.View; list []part }\n",
		"internal/adapter/b.go": "package adapter\ntype part struct { inner }\ntype inner struct { x, y int }\ntype Agent struct { z int }\n",
	}), "Session")
	require.Equal(t, []int{7, 10}, []int{own, all})

	require.Equal(t, 2, methods(parse(t, map[string]string{
		"internal/adapter/a.go": "package adapter\nfunc (s *Session) a() {}\nfunc (s Session) b() {}\nfunc (s *other) c() {}\nfunc d() {}\n",
	}), "Session"))
}

// methods is how many methods a type of the adapter has.
func methods(m *tree, name string) (n int) {
	for _, s := range m.code("internal/adapter") {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && strings.TrimPrefix(m.text(f.Recv.List[0].Type), "*") == name {
				n++
			}
		}
	}
	return n
}

// fields are how many fields a struct of the adapter has, and how many with those of the
// adapter's structs that are its fields, pointed to or not. The agent is no part of it.
func fields(m *tree, name string) (own, all int) {
	structs := make(map[string]*ast.StructType)
	for _, s := range m.code("internal/adapter") {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok && spec.Name.Name != "Agent" {
					structs[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	own = structs[name].Fields.NumFields()
	var count func(name string)
	count = func(name string) {
		s := structs[name]
		if s == nil {
			return
		}
		delete(structs, name)
		all += s.Fields.NumFields()
		for _, f := range s.Fields.List {
			of := f.Type
			if to, ok := of.(*ast.StarExpr); ok {
				of = to.X
			}
			if id, ok := of.(*ast.Ident); ok {
				count(id.Name)
			}
		}
	}
	count(name)
	return own, all
}
