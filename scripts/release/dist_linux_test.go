package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// filesBelow are all files and links below a directory, from there.
func filesBelow(t *testing.T, dir string) (found []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			found = append(found, strings.TrimPrefix(path, dir))
		}
		return err
	}))
	return found
}

// requireProgram checks that an installed program is of the release and runs.
func requireProgram(t *testing.T, d dist, program string) {
	t.Helper()
	require.Contains(t, succeed(t, bare(t, program, "--version")), "droid-acp "+d.version+" (commit ")
	require.Contains(t, succeed(t, bare(t, program, "smoke", "--demo", "--permissions", "allow", "Add a greeting")), "Add a greeting")
}

// requireInstalled checks what both kinds of packages lay down below a directory.
func requireInstalled(t *testing.T, d dist, root string) {
	t.Helper()
	requireProgram(t, d, filepath.Join(root, "usr/bin/droid-acp"))
	for _, name := range []string{"usr/share/man/man1/droid-acp.1.gz", "usr/share/bash-completion/completions/droid-acp", "usr/share/fish/vendor_completions.d/droid-acp.fish"} {
		info, err := os.Stat(filepath.Join(root, name))
		require.NoError(t, err)
		require.EqualValues(t, 0o644, info.Mode().Perm(), name)
		require.NotZero(t, info.Size(), name)
	}
}

// TestDistDebIsInstalledRunsAndLeavesNothing installs below a directory, with a separate database.
func TestDistDebIsInstalledRunsAndLeavesNothing(t *testing.T) {
	d, here := openDist(t), needsLinux(t)
	needs(t, "dpkg")
	if os.Geteuid() != 0 {
		t.Skip("dpkg needs root")
	}
	file, root := d.file(here.String()+".deb"), t.TempDir()
	for _, dir := range []string{"info", "updates", "triggers"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "usr/share"), 0o755)) // of other packages
	succeed(t, bare(t, "dpkg", "--root="+root, "--install", file))
	requireInstalled(t, d, root)
	require.Contains(t, succeed(t, bare(t, "dpkg", "--root="+root, "--status", "droid-acp")), "\nVersion: "+strings.Replace(d.version, "-", "~", 1)+"-1\n")
	require.Empty(t, succeed(t, bare(t, "dpkg", "--root="+root, "--verify", "droid-acp")))
	succeed(t, bare(t, "dpkg", "--root="+root, "--purge", "droid-acp"))
	for _, left := range filesBelow(t, root) {
		require.True(t, strings.HasPrefix(left, "/var/lib/dpkg/") || strings.HasPrefix(left, "/var/log/"), left)
	}
	require.NoDirExists(t, filepath.Join(root, "usr/share/doc/droid-acp"))
}

func TestDistDebHasNothingThatDebiansCheckerMinds(t *testing.T) {
	d, here := openDist(t), needsLinux(t)
	needs(t, "lintian")
	succeed(t, bare(t, "lintian", "--allow-root", "--fail-on", "error,warning", d.file(here.String()+".deb")))
}

func TestDistRpmIsInstalledRunsAndLeavesNothing(t *testing.T) {
	d, here := openDist(t), needsLinux(t)
	needs(t, "rpm")
	if os.Geteuid() != 0 {
		t.Skip("rpm needs root")
	}
	file, root := d.file(here.String()+".rpm"), t.TempDir()
	require.Contains(t, succeed(t, bare(t, "rpm", "-qpl", file)), "/usr/bin/droid-acp\n")
	rpm := func(args ...string) string {
		return succeed(t, bare(t, "rpm", append([]string{"--root", root, "--dbpath", "/var/lib/rpm"}, args...)...))
	}
	rpm("--initdb")
	rpm("--install", file)
	requireInstalled(t, d, root)
	require.Contains(t, rpm("--query", "droid-acp"), "droid-acp-"+strings.Replace(d.version, "-", "~", 1)+"-1")
	rpm("--verify", "droid-acp")
	rpm("--erase", "droid-acp")
	for _, left := range filesBelow(t, root) {
		require.True(t, strings.HasPrefix(left, "/var/lib/rpm/"), left)
	}
	require.NoDirExists(t, filepath.Join(root, "usr/share/doc/droid-acp"))
}
