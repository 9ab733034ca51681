package projectconfig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/config"
)

const lazily = "[remote \"origin\"]\n promisor = true\n"

// A program that git would start when droid inspects a repository is listed, wherever it is configured, and the user's own is not.
func TestGitPrograms(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	write(t, home, map[string]string{
		".gitconfig":         "[filter \"mine\"]\n clean = mine\n[include]\n path = more\n[core]\n hooksPath = .shared\n",
		"more":               "[diff]\n external = difft\n",
		".config/git/config": "[diff \"x\"]\n textconv = catdoc\n",
		"broken":             "[filter \"x\"]\n clean = a\n[\n",
		"inc":                "[filter \"inc\"]\n clean = a\n",
	})
	for name, tc := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"nothing": {map[string]string{".git/config": "[core]\n bare = false\n fsmonitor = x\n sshCommand = ssh -i key\n hooksPath = .husky/_\n pager = x\n[alias]\n st = !x\n[gpg]\n format = ssh\n",
			".husky/_/pre-commit": "#!/bin/sh\n", ".husky/_/pre-auto-gc": "#!/bin/sh\n", ".git/hooks/post-index-change.sample": "#!/bin/sh\n"}, nil},
		"git-lfs": {map[string]string{".git/config": "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n"}, nil},
		"nearly git-lfs": {map[string]string{".git/config": "[filter \"lfs\"]\n\tclean = \"git-lfs clean -- %f;x\"\n[filter \"LFS\"]\nprocess = git-lfs filter-process\n[lfs \"extension.a\"]\nclean = x\n"},
			[]string{"git program filter.lfs.clean: git-lfs clean -- %f;x", "git program filter.LFS.process: git-lfs filter-process", "git program lfs.extension.a.clean: x"}},
		"the user's": {map[string]string{".git/config": "[filter \"mine\"]\n clean = mine\n[diff]\n external = difft\n[diff \"x\"]\n textconv = catdoc\n"}, nil},
		"not quite the user's": {map[string]string{".git/config": "[filter \"mine\"]\n clean = ./mine\n process = mine\n"},
			[]string{"git program filter.mine.clean: ./mine", "git program filter.mine.process: mine"}},
		"odd spellings": {map[string]string{".git/config": "[FILTER \"a\"] CLEAN = \"a # b\" # c\n[filter.B]smudge=b\\\nc"},
			[]string{"git program filter.a.clean: a # b", "git program filter.b.smudge: bc"}},
		"a worktree's":   {map[string]string{".git/config.worktree": "[gpg \"ssh\"]\n program = x\n"}, []string{"git program gpg.ssh.program: x"}},
		"an include":     {map[string]string{".git/config": "[include]\n path = ../own\n[includeIf \"onbranch:x\"]\n path = ~/inc\n", "own": "[diff \"y\"]\n command = x\n"}, []string{"git program diff.y.command: x", "git program filter.inc.clean: a"}},
		"a missing one":  {map[string]string{".git/config": "[include]\n path = no/where\n"}, nil},
		"a broken one":   {map[string]string{".git/config": "[include]\n path = ~/broken\n"}, []string{"unread broken: cannot be read: line 3 is none of git's configuration"}},
		"another user's": {map[string]string{".git/config": "[include]\n path = ~root/x\n"}, []string{"unread config: cannot be read: it includes a file whose place only git knows"}},
		"a loop":         {map[string]string{".git/config": "[include]\n path = config\n"}, []string{"unread config: cannot be read: its files include each other too deeply"}},
		"broken":         {map[string]string{".git/config": "x\n[core\n"}, []string{"unread config: cannot be read: line 2 is none of git's configuration"}},
		"too large":      {map[string]string{".git/config": strings.Repeat("#\n", config.MaxFile)}, []string{"unread config: cannot be read: ROOT/.git/config has more than 4194304 bytes"}},
		"a fetch": {map[string]string{".git/config": lazily + " uploadpack = x\n[core]\nsshCommand = y\n[credential]\nhelper = !z\n[credential \"u\"]\nhelper = store\n[protocol \"ext\"]\nallow = always\n"},
			[]string{"git program remote.origin.uploadpack: x", "git program core.sshcommand: y", "git program credential.helper: !z", "git program credential.u.helper: store", "git program protocol.ext.allow: always"}},
		"an ordinary partial clone": {map[string]string{".git/config": lazily + " partialclonefilter = blob:none\n url = https://host.test/x\n[credential]\nhelper = store\n"}, nil},
		"a hook":                    {map[string]string{".git/hooks/post-index-change": "#!/bin/sh\n"}, []string{"git program hook post-index-change: ROOT/.git/hooks/post-index-change"}},
		"a hook elsewhere":          {map[string]string{".git/config": "[core]\nhooksPath = hk\n", "hk/post-index-change": "#!/bin/sh\n"}, []string{"git program hook post-index-change: ROOT/hk/post-index-change"}},
		"a hook where the user has the repository's": {map[string]string{".shared/post-index-change": "#!/bin/sh\n"}, []string{"git program hook post-index-change: ROOT/.shared/post-index-change"}},
		"a hook of a fetch":                          {map[string]string{".git/config": lazily, ".git/hooks/pre-auto-gc": "#!/bin/sh\n"}, []string{"git program hook pre-auto-gc: ROOT/.git/hooks/pre-auto-gc"}},
		"a bare repository":                          {map[string]string{"sub/HEAD": "ref: refs/heads/x\n", "sub/objects/x": "", "sub/refs/x": "", "sub/config": "[filter \"x\"]\nclean = a\n"}, []string{"git program filter.x.clean: a"}},
		"a repository elsewhere":                     {map[string]string{"sub/.git": "gitdir: ../apart \r\n", "apart /HEAD": "x", "apart /config": "[filter \"x\"]\nclean = a\n"}, []string{"git program filter.x.clean: a"}},
		"a repository's worktree":                    {map[string]string{"sub/.git": "gitdir: ../w", "w/HEAD": "x", "w/commondir": "../c\n", "w/config": "[gpg]\nprogram = no\n", "c/config": "[filter \"x\"]\nclean = a\n"}, []string{"git program filter.x.clean: a"}},
		"a repository beside":                        {map[string]string{"beside/.git/config": "[filter \"x\"]\nclean = a\n"}, nil},
		"an index that is none":                      {map[string]string{".git/index": "DIRC\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\xe0\x00"}, []string{"unread index: cannot be read: is no index that is known here"}},
		"an index of another form":                   {map[string]string{".git/index": "DIRC\x00\x00\x00\x09\x00\x00\x00\x01\x00\x00\xe0\x00"}, []string{"unread index: cannot be read: is no index that is known here"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := repository(t, tc.files)
			require.NoError(t, os.MkdirAll(filepath.Join(root, "sub"), 0o755))
			got := Project(filepath.Join(root, "sub"), home)
			for i := range tc.want {
				tc.want[i] = strings.ReplaceAll(tc.want[i], "ROOT", root)
			}
			require.ElementsMatch(t, tc.want, lines(got))
			require.Len(t, got.Inseparable(), len(tc.want), "droid is not started without them")
		})
	}
	require.Empty(t, Project(home, home).Items, "what stands in the user's own directory is theirs")
}

// A yes to a program is one to its name and value, and to the content of a hook.
func TestGitProgramsAreToldApart(t *testing.T) {
	root := repository(t, nil)
	sum := func(files map[string]string) string {
		write(t, root, files)
		items := Project(root, "/home/me").Items
		require.Len(t, items, 1)
		return items[0].Sum()
	}
	seen := map[string]bool{}
	for _, files := range []map[string]string{
		{".git/config": "[filter \"x\"]\nclean = a"}, {".git/config": "[filter \"x\"]\nclean = b"}, {".git/config": "[filter \"y\"]\nclean = b"},
		{".git/config": "[a\n"}, {".git/config": "[b\n"}, {".git/config": "", ".git/hooks/post-index-change": "a"}, {".git/hooks/post-index-change": "b"},
	} {
		s := sum(files)
		require.False(t, seen[s], "%v", files)
		seen[s] = true
	}
}

// git status looks into each repository within another one, whatever form the index has.
func TestRepositoriesWithin(t *testing.T) {
	for _, form := range [][]string{{"2"}, {"3"}, {"4"}, {"2", "--object-format=sha256"}, {"4", "--object-format=sha256"}, {"split"}} {
		t.Run(fmt.Sprint(form), func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "root")
			git := func(dir string, args ...string) {
				t.Helper()
				cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=A", "-c", "user.email=a@a"}, args...)...)
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", out)
			}
			require.NoError(t, os.MkdirAll(filepath.Join(root, "a", "within", "deeper"), 0o755))
			for _, dir := range []string{"a/within/deeper", "a/within", "."} {
				dir := filepath.Join(root, dir)
				git(dir, append([]string{"init", "-q"}, form[1:]...)...)
				for i := range 40 {
					write(t, dir, map[string]string{fmt.Sprintf("file-%s-%d", strings.Repeat("x", i), i): fmt.Sprint(i)})
				}
				if form[0] == "split" {
					git(dir, "config", "core.splitIndex", "true")
				} else {
					git(dir, "config", "index.version", form[0])
				}
				git(dir, "add", ".")
				git(dir, "commit", "-qm", "x")
				if form[0] == "3" {
					write(t, dir, map[string]string{"later": "x"})
					git(dir, "add", "-N", "later")
				}
				git(dir, "config", "filter.x.clean", "program-"+filepath.Base(dir))
			}
			require.ElementsMatch(t, []string{"git program filter.x.clean: program-root", "git program filter.x.clean: program-within", "git program filter.x.clean: program-deeper"},
				lines(Project(root, "/home/me")))
			require.Equal(t, []string{"git program filter.x.clean: program-deeper"}, lines(Project(filepath.Join(root, "a", "within", "deeper"), "/home/me")))
		})
	}
}
