package stream

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The features of the recorded versions: 0.57, 0.99, 0.215 and 0.225.
func TestFeaturesOfVersions(t *testing.T) {
	v057, v099, between, v215, v225 := Version{}, Version{1, 15, 0}, Version{1, 32, 0}, Version{1, 206, 0}, Version{1, 220, 0}
	for _, tc := range []struct {
		feature Feature
		since   string
		lack    []Version
		have    []Version
	}{
		{TakesAutonomyMode, "0.99", []Version{v057}, []Version{{0, 0, 1}, v099, between, v215, v225}},
		{RenamesSessions, "0.215", []Version{v057, v099, between}, []Version{v215, v225}},
		{GoesOverAfterRewind, "0.215", []Version{v057, v099, between, {1, 205, 99}}, []Version{v215, v225}},
		{StaysAfterFork, "0.215", []Version{v057, v099, between}, []Version{v215, v225}},
		{ChecksRules, "0.225", []Version{v057, v099, between, v215, {1, 219, 9}}, []Version{v225}},
		{ClosesSessions, "0.215", []Version{v057, v099, between}, []Version{v215, v225}},
	} {
		for _, v := range tc.lack {
			require.False(t, v.Supports(tc.feature), "%v %v", v, tc.feature)
			require.Contains(t, v.UnsupportedText(tc.feature), "(protocol "+v.String()+") cannot "+tc.feature.can+"; droid "+tc.since+" and newer can")
		}
		for _, v := range tc.have {
			require.True(t, v.Supports(tc.feature), "%v %v", v, tc.feature)
		}
	}
}

// Missing features are listed with the release that has all of them, and none for the newest.
func TestMissing(t *testing.T) {
	require.Equal(t, "cannot rename a session, "+strings.Join([]string{ExpandsCommands.can, StoresSystemPrompt.can, TakesEditedPlan.can, TellsContextUse.can,
		SwitchesAutoCompaction.can}, ", ")+"; droid 0.215 and newer can", Version{1, 15, 0}.Missing())
	require.Empty(t, Version{1, 206, 0}.Missing())
}

// A feature that is never used would become outdated unnoticed: each is read somewhere in the
// program. So would a release of droid in a text: texts take it from a feature.
func TestEveryFeatureIsRead(t *testing.T) {
	const root = "../../.."
	features := featuresOf(t, "version.go")
	require.Greater(t, len(features), 10)
	releases := regexp.MustCompile(`\b0\.\d{2,3}\b`)
	forTests := []string{"fakedroid", "fixture", "modelserver"}
	for _, dir := range []string{"internal", "cmd"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			here := file.Name.Name == "stream"
			if here && filepath.Base(path) == "version.go" {
				return nil
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "stream" {
						delete(features, n.Sel.Name)
					}
				case *ast.Ident:
					if here {
						delete(features, n.Name)
					}
				case *ast.BasicLit:
					if n.Kind == token.STRING && !slices.Contains(forTests, file.Name.Name) {
						require.NotRegexp(t, releases, n.Value, path)
					}
				}
				return true
			})
			return nil
		}))
	}
	require.Empty(t, features, "features that nothing reads")
}

// featuresOf returns the names of the features that a file declares.
func featuresOf(t *testing.T, path string) map[string]bool {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	features := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		row, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, value := range row.Values {
			if lit, ok := value.(*ast.CompositeLit); ok {
				if kind, ok := lit.Type.(*ast.Ident); ok && kind.Name == "Feature" {
					features[row.Names[i].Name] = true
				}
			}
		}
		return true
	})
	return features
}
