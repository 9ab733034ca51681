package files

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// A link in any component is followed, also one to what does not exist.
func TestResolve(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	in := func(name string) string { return filepath.Join(base, name) }
	for _, dir := range []string{"home/deep", "project/docs"} {
		require.NoError(t, os.MkdirAll(in(dir), 0o755))
	}
	require.NoError(t, os.WriteFile(in("home/.bashrc"), nil, 0o600))
	for link, target := range map[string]string{
		"project/docs/notes.md": "../../home/.bashrc",
		"project/build":         in("home"),
		"project/new":           "../home/none/file",
		"project/twice":         "docs/notes.md",
		"project/up":            "build/deep/../.bashrc",
		"project/deep":          "../home/deep",
		"project/parent":        "deep/../.bashrc",
		"project/loop":          "loop",
	} {
		require.NoError(t, os.Symlink(target, in(link)))
	}
	for path, want := range map[string]string{
		"project/docs/plain":       "project/docs/plain",
		"project/none/deep":        "project/none/deep",
		"project/docs/notes.md":    "home/.bashrc",
		"project/build":            "home",
		"project/build/.bashrc":    "home/.bashrc",
		"project/build/none/x":     "home/none/x",
		"project/new":              "home/none/file",
		"project/twice":            "home/.bashrc",
		"project/up":               "home/.bashrc",
		"project/parent":           "home/.bashrc",
		"project/docs/../docs/a/.": "project/docs/a",
	} {
		got, err := Resolve(in(path))
		require.NoError(t, err, path)
		require.Equal(t, in(want), got, path)
	}
	got, err := Resolve(in("project") + "/deep/../.bashrc")
	require.NoError(t, err)
	require.Equal(t, in("home/.bashrc"), got, "as the kernel follows it")
	if runtime.GOOS == "linux" {
		_, err = Resolve("/proc/self/cwd/x")
		require.ErrorIs(t, err, errKernel)
	}
	_, err = Resolve(in("project/loop/x"))
	require.ErrorIs(t, err, errLinks)
	_, err = Resolve(in("home/.bashrc/x"))
	require.Error(t, err)
}
