package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoNetwork holds what SECURITY.md says: droid-acp itself opens no connection to the network.
func TestNoNetwork(t *testing.T) { require.Empty(t, networked(readModule(t))) }

// networked are the places that may open a connection: what imports a package for that, but for
// the sockets of internal/hooks, which are files of this machine, and for internal/transport, which
// speaks on connections that its caller opens.
func networked(m *tree) (found []string) {
	for room := range m.rooms {
		if slices.Contains(forTests, strings.TrimPrefix(room, "internal/")) && room != "internal/fakedroid" {
			continue
		}
		for _, s := range m.code(room) {
			imports := s.imports()
			for _, of := range imports {
				connects := of == "net" || strings.HasPrefix(of, "net/") && of != "net/url" || of == "crypto/tls" || strings.HasPrefix(of, "golang.org/x/net")
				if connects && (of != "net" || room != "internal/hooks") && room != "internal/transport" {
					found = append(found, s.name+" imports "+of)
				}
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, _ := sel.X.(*ast.Ident)
				system := x != nil && sel.Sel.Name == "Socket" && (x.Name == "unix" || x.Name == "syscall" || x.Name == "windows")
				overGiven := room == "internal/transport" && x != nil && x.Name == "websocket"
				connects := imports["net"] == "net" && !overGiven && (strings.HasPrefix(sel.Sel.Name, "Dial") || strings.HasPrefix(sel.Sel.Name, "Listen"))
				if system || connects && !slices.ContainsFunc(call.Args, isUnix) {
					found = append(found, fmt.Sprintf("%s: %s", m.fset.Position(n.Pos()), sel.Sel.Name))
				}
				return true
			})
		}
	}
	return found
}

func isUnix(arg ast.Expr) bool {
	text, ok := arg.(*ast.BasicLit)
	return ok && text.Value == `"unix"`
}
