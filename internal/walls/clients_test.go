package walls

import (
	"go/ast"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// asked is what is asked of a client outside of internal/protocol, which knows clients, and of
// internal/show, which alone asks how they show what they are sent.
var asked = map[string][]string{
	"internal/adapter/initialize.go":     {"Files", "FilesOnDisk"},
	"internal/adapter/command_status.go": {"Files"},
	"internal/adapter/editorfiles.go":    {"MindsTimes"},
	"internal/adapter/session.go":        {"BooleanOptions"},
	"internal/adapter/login.go":          {"TerminalLogin", "TerminalLoginMeta"},
	"internal/adapter/login_show.go":     {"Forms", "Raw", "URLs"},
	"internal/adapter/mcplogin.go":       {"URLs"},
}

// TestClientsAreAskedInOneRoom: who asks something more of a client gives a reason to add it
// here, or asks internal/show.
func TestClientsAreAskedInOneRoom(t *testing.T) {
	m := readModule(t)
	var fields []string
	for _, s := range m.code("internal/protocol") {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && (spec.Name.Name == "ClientCapabilities" || spec.Name.Name == "ClientTraits") {
				for _, f := range spec.Type.(*ast.StructType).Fields.List {
					for _, name := range f.Names {
						fields = append(fields, name.Name)
					}
				}
			}
			return true
		})
	}
	require.Greater(t, len(fields), 15)
	found := make(map[string][]string)
	for room := range m.rooms {
		if room == "internal/protocol" || room == "internal/show" {
			continue
		}
		for _, s := range m.code(room) {
			ast.Inspect(s.file, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(fields, sel.Sel.Name) && lastName(sel.X) == "client" {
					found[s.name] = append(found[s.name], sel.Sel.Name)
				}
				return true
			})
			if len(found[s.name]) > 0 {
				slices.Sort(found[s.name])
				found[s.name] = slices.Compact(found[s.name])
			}
		}
	}
	require.Equal(t, asked, found)
}

// lastName is the name that an expression ends with.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
