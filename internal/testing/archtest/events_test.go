package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEventsHaveTheirPlaces: an event of droid's that has a row in kinds is on the page of the protocol, and somebody does something about it.
func TestEventsHaveTheirPlaces(t *testing.T) {
	rows := eventTypes(t)
	require.Greater(t, len(rows), 20)
	page := text(t, "../docs/dev/protocol.md")
	uses := cases(t, "quirks/normalizer.go", "Handle")
	maps.Copy(uses, cases(t, "render/view.go", "show"))
	maps.Copy(uses, cases(t, "adapter/session/droid_events.go", "applyEvent"))
	var missing []string
	for kind, name := range rows {
		for place, has := range map[string]bool{
			"docs/dev/protocol.md": strings.Contains(page, "`"+kind+"`"),
			"a case in Normalizer.Handle, View.show or Session.applyEvent": uses["stream."+name],
		} {
			if !has {
				missing = append(missing, kind+" in "+place)
			}
		}
	}
	require.Empty(t, missing)
}

// TestDroppableDecides: View.Droppable names each event that View.show renders, since the outbox grows by those that it does not drop while a
// turn is being stopped.
func TestDroppableDecides(t *testing.T) {
	shown, decided := cases(t, "render/view.go", "show"), cases(t, "render/view.go", "Droppable")
	require.Greater(t, len(shown), 20)
	maps.DeleteFunc(shown, func(name string, _ bool) bool { return decided[name] })
	require.Empty(t, shown, "View.Droppable has no case for these")
}

// cases returns the types in the cases of a function, such as "stream.Lost". path is the path of its file in internal.
func cases(t *testing.T, path, function string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, text(t, path), 0)
	require.NoError(t, err)
	found := make(map[string]bool)
	for _, d := range file.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Name.Name == function {
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if c, is := n.(*ast.CaseClause); is {
					for _, e := range c.List {
						found[types.ExprString(e)] = true
					}
				}
				return true
			})
		}
	}
	require.NotEmpty(t, found, "%s has no cases in %s", function, path)
	return found
}

// text is a file by its path in internal.
func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile("../../" + path)
	require.NoError(t, err)
	return string(data)
}

// eventTypes are the rows of kinds: the type of each event by its kind.
func eventTypes(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../droid/stream/kinds.go", nil, 0)
	require.NoError(t, err)
	rows := make(map[string]string)
	ast.Inspect(file, func(n ast.Node) bool {
		row, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		call, ok := row.Value.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		kind, err := strconv.Unquote(row.Key.(*ast.BasicLit).Value)
		require.NoError(t, err)
		rows[kind] = call.Args[0].(*ast.CompositeLit).Type.(*ast.Ident).Name
		return true
	})
	return rows
}
