package archtest

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// onNetwork are the places that import packages for that, or call what may connect, and why.
var onNetwork = map[string]string{
	"internal/droid/hooks net":             "sockets that are files of this machine",
	"internal/remote/keep net":             "the same",
	"internal/remote/keep net/http":        "over such a socket: what ps and stop ask of the server",
	"internal/remote/transport net":        "what it is for; it listens nowhere by itself",
	"internal/remote/transport net/http":   "the same",
	"internal/remote/transport crypto/tls": "the same",
	"internal/remote/transport Dial":       "its caller says how: over such a socket",
	"cmd/droid-acp net":                    "serve --listen",
	"cmd/droid-acp net/http":               "the same",
	"cmd/droid-acp crypto/tls":             "the same",
	"cmd/droid-acp Listen":                 "the same, and the server's socket",
	"cmd/droid-acp Dial":                   "to the server's socket",
}

// TestNoNetwork holds what SECURITY.md says: droid-acp itself opens no connection to the network, and
// is reachable from there by serve --listen alone.
func TestNoNetwork(t *testing.T) {
	m := readModule(t)
	require.Empty(t, networked(m), "say above why")
	for at := range onNetwork {
		require.Contains(t, networkUses(m), at, "it is not there any more")
	}
}

// networked are the places that may open a connection and are not in the list above.
func networked(m *tree) (found []string) {
	for at, where := range networkUses(m) {
		if onNetwork[at] == "" {
			found = append(found, at+" ("+where+")")
		}
	}
	return found
}

// networkUses are the places that may open a connection: a room and the package for that which it
// imports, or the function that it calls, and where.
func networkUses(m *tree) map[string]string {
	found := map[string]string{}
	for room := range m.rooms {
		if slices.Contains(forTests, strings.TrimPrefix(room, "internal/testing/")) {
			continue
		}
		for _, s := range m.code(room) {
			imports := s.imports()
			for _, of := range imports {
				connects := of == "net" || strings.HasPrefix(of, "net/") && of != "net/url" || of == "crypto/tls" || strings.HasPrefix(of, "golang.org/x/net")
				if connects {
					found[room+" "+of] = s.name
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
				connects := imports["net"] == "net" && (strings.HasPrefix(sel.Sel.Name, "Dial") || strings.HasPrefix(sel.Sel.Name, "Listen"))
				if system || connects && !slices.ContainsFunc(call.Args, isUnix) {
					found[room+" "+sel.Sel.Name] = m.fset.Position(n.Pos()).String()
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
