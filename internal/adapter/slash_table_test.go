package adapter

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A command ends its prompt through slashRun alone: no file of a command names
// what runs prompts.
func TestCommandsDoNotKnowTurns(t *testing.T) {
	machine := []string{"prompt", "prompts", "turns", "machine", "carryOut", "failPrompt", "endPrompt"}
	files, err := filepath.Glob("slash_*.go")
	require.NoError(t, err)
	checked := 0
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		checked++
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				require.False(t, slices.Contains(machine, id.Name), "%v: %s", fset.Position(id.Pos()), id.Name)
			}
			return true
		})
	}
	require.Greater(t, checked, 10)
}

// The table has every command once.
func TestEveryCommandHasOneRow(t *testing.T) {
	names := map[string]bool{}
	for _, c := range slashCommands() {
		require.False(t, names[c.name], c.name)
		require.NotEmpty(t, c.description, c.name)
		require.NotNil(t, c.run, c.name)
		names[c.name] = true
	}
	require.True(t, names["shell"])
	s := &Session{agent: &Agent{}}
	for _, c := range s.ownCommands() {
		require.NotEqual(t, "shell", c.name, "the configuration does not allow it")
	}
}
