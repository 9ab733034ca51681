package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEventsHaveTheirPlaces: an event of droid's that has a row in kinds is decoded in a test, on the page of the protocol, and somebody
// does something about it.
func TestEventsHaveTheirPlaces(t *testing.T) {
	rows := eventTypes(t)
	require.Greater(t, len(rows), 20)
	decoded, page := text(t, "droid/stream/decode_test.go"), text(t, "../docs/dev/protocol.md")
	uses := text(t, "quirks/normalizer.go") + text(t, "render/view.go") + text(t, "adapter/session/translate.go")
	var missing []string
	for kind, name := range rows {
		for place, has := range map[string]bool{
			"TestDecodeEvents":     strings.Contains(decoded, `"type":"`+kind+`"`),
			"docs/dev/protocol.md": strings.Contains(page, "`"+kind+"`"),
			"a case in Normalizer.Handle, View.show or Session.applyEvent": regexp.MustCompile(`case .*stream\.` + name + `\b`).MatchString(uses),
		} {
			if !has {
				missing = append(missing, kind+" in "+place)
			}
		}
	}
	require.Empty(t, missing)
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
		if !ok || len(call.Args) != 1 {
			return true
		}
		kind, err := strconv.Unquote(row.Key.(*ast.BasicLit).Value)
		require.NoError(t, err)
		rows[kind] = call.Args[0].(*ast.CompositeLit).Type.(*ast.Ident).Name
		return true
	})
	return rows
}
