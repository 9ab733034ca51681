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
		"go.mod":               "module anvil\n\ngo 1.26.0\n",
		"scripts/tool/go.mod":  "module anvil/scripts/tool\n\ngo 1.26.0\n",
		"scripts/tool/main.go": "package main\n\nfunc main() {}\n",
		"cmd/anvil/main.go": `// Command anvil is in anvil/e2e.
package main

import (
	"fmt"

	"anvil/internal/a"
	other "anvil/internal/b"
	"anvil2/c"
	"github.com/x/anvil/internal/d"
)

func main() { fmt.Println("anvil", "anvil/1", "anvil/internal/a") }
`,
		"docs/a.md": "`anvil/internal/a`, (anvil/internal/a), cmd/anvil/internal/x, ~/.local/state/anvil/edits, anvil\n",
		"binary":    "anvil/internal/a\x00",
	})
	require.NoError(t, os.Symlink("go.mod", filepath.Join(root, "link")))
	changed, err := rename(root, "example.com/someone/anvil")
	require.NoError(t, err)
	require.Equal(t, 4, changed)
	require.Equal(t, "module example.com/someone/anvil\n\ngo 1.26.0\n", read(t, root, "go.mod"))
	require.Equal(t, "module example.com/someone/anvil/scripts/tool\n\ngo 1.26.0\n", read(t, root, "scripts/tool/go.mod"))
	require.Equal(t, `// Command anvil is in anvil/e2e.
package main

import (
	"fmt"

	"anvil2/c"
	"example.com/someone/anvil/internal/a"
	other "example.com/someone/anvil/internal/b"
	"github.com/x/anvil/internal/d"
)

func main() { fmt.Println("anvil", "anvil/1", "example.com/someone/anvil/internal/a") }
`, read(t, root, "cmd/anvil/main.go"))
	require.Equal(t, "`example.com/someone/anvil/internal/a`, (example.com/someone/anvil/internal/a), cmd/anvil/internal/x, ~/.local/state/anvil/edits, anvil\n",
		read(t, root, "docs/a.md"))
	require.Equal(t, "anvil/internal/a\x00", read(t, root, "binary"))

	changed, err = rename(root, "anvil.example/x")
	require.NoError(t, err)
	require.Equal(t, 4, changed, "from any path")
}

func TestRenameRefusesWhatIsNoPath(t *testing.T) {
	root := write(t, map[string]string{"go.mod": "module anvil\n"})
	for _, path := range []string{"", "anvil", "https://example.com/x", "example.com/", "example.com/x y", "github.com/you/anvil.git/"} {
		_, err := rename(root, path)
		require.Error(t, err, path)
	}
	require.Equal(t, "module anvil\n", read(t, root, "go.mod"))
}

func TestRenameWritesNothingWhenAFileCannotBeRead(t *testing.T) {
	root := write(t, map[string]string{"go.mod": "module anvil\n", "a.go": "package a\n\nimport _ \"anvil/internal/b\"\n", "z.go": "not Go"})
	_, err := rename(root, "example.com/x")
	require.ErrorContains(t, err, "z.go")
	require.Equal(t, "module anvil\n", read(t, root, "go.mod"))
	require.Contains(t, read(t, root, "a.go"), `"anvil/internal/b"`)
}
