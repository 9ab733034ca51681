package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// write makes a repository of files.
func write(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}} {
		out, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	return root
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(text)
}

func TestRenameChangesPathsAndNothingElse(t *testing.T) {
	root := write(t, map[string]string{
		"go.mod":               "module droid-acp\n\ngo 1.26.0\n",
		"scripts/tool/go.mod":  "module droid-acp/scripts/tool\n\ngo 1.26.0\n",
		"scripts/tool/main.go": "package main\n\nfunc main() {}\n",
		"cmd/droid-acp/main.go": `// Command droid-acp is in droid-acp/e2e.
package main

import (
	"fmt"

	"droid-acp/internal/a"
	other "droid-acp/internal/b"
	"droid-acp2/c"
	"github.com/x/droid-acp/internal/d"
)

func main() { fmt.Println("droid-acp", "droid-acp/1", "droid-acp/internal/a") }
`,
		"docs/a.md": "`droid-acp/internal/a`, (droid-acp/internal/a), cmd/droid-acp/internal/x, ~/.local/state/droid-acp/edits, droid-acp\n",
		"binary":    "droid-acp/internal/a\x00",
	})
	require.NoError(t, os.Symlink("go.mod", filepath.Join(root, "link")))
	changed, err := rename(root, "example.com/someone/droid-acp")
	require.NoError(t, err)
	require.Equal(t, 4, changed)
	require.Equal(t, "module example.com/someone/droid-acp\n\ngo 1.26.0\n", read(t, root, "go.mod"))
	require.Equal(t, "module example.com/someone/droid-acp/scripts/tool\n\ngo 1.26.0\n", read(t, root, "scripts/tool/go.mod"))
	require.Equal(t, `// Command droid-acp is in droid-acp/e2e.
package main

import (
	"fmt"

	"droid-acp2/c"
	"example.com/someone/droid-acp/internal/a"
	other "example.com/someone/droid-acp/internal/b"
	"github.com/x/droid-acp/internal/d"
)

func main() { fmt.Println("droid-acp", "droid-acp/1", "example.com/someone/droid-acp/internal/a") }
`, read(t, root, "cmd/droid-acp/main.go"))
	require.Equal(t, "`example.com/someone/droid-acp/internal/a`, (example.com/someone/droid-acp/internal/a), cmd/droid-acp/internal/x, ~/.local/state/droid-acp/edits, droid-acp\n",
		read(t, root, "docs/a.md"))
	require.Equal(t, "droid-acp/internal/a\x00", read(t, root, "binary"))

	changed, err = rename(root, "droid-acp.example/x")
	require.NoError(t, err)
	require.Equal(t, 4, changed, "from any path")
}

func TestRenameRefusesWhatIsNoPath(t *testing.T) {
	root := write(t, map[string]string{"go.mod": "module droid-acp\n"})
	for _, path := range []string{"", "droid-acp", "https://example.com/x", "example.com/", "example.com/x y", "github.com/you/droid-acp.git/"} {
		_, err := rename(root, path)
		require.Error(t, err, path)
	}
	require.Equal(t, "module droid-acp\n", read(t, root, "go.mod"))
}

func TestRenameWritesNothingWhenAFileCannotBeRead(t *testing.T) {
	root := write(t, map[string]string{"go.mod": "module droid-acp\n", "a.go": "package a\n\nimport _ \"droid-acp/internal/b\"\n", "z.go": "not Go"})
	_, err := rename(root, "example.com/x")
	require.ErrorContains(t, err, "z.go")
	require.Equal(t, "module droid-acp\n", read(t, root, "go.mod"))
	require.Contains(t, read(t, root, "a.go"), `"droid-acp/internal/b"`)
}
