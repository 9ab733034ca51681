package projectconfig

import (
	"bytes"
	"encoding/binary"
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
		"a worktree's":  {map[string]string{".git/config.worktree": "[gpg \"ssh\"]\n program = x\n"}, []string{"git program gpg.ssh.program: x"}},
		"an include":    {map[string]string{".git/config": "[include]\n path = ../own\n[includeIf \"onbranch:x\"]\n path = ~/inc\n", "own": "[diff \"y\"]\n command = x\n"}, []string{"git program diff.y.command: x", "git program filter.inc.clean: a"}},
		"a missing one": {map[string]string{".git/config": "[include]\n path = no/where\n"}, nil},
		"two that cannot be read": {map[string]string{".git/config": "[include]\n path = ~root/x\n path = ~/broken\n"},
			[]string{"unread config: cannot be read: it includes a file whose place only git knows", "unread broken: cannot be read: line 3 is none of git's configuration"}},
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
		"hooks in the configuration":                 {map[string]string{".git/config": "[hook \"x\"]\n command = ./x\n event = pre-commit\n event = post-index-change\n[hook \"y\"]\n command = ./y\n event = pre-commit\n"}, []string{"git program hook.x.command: ./x"}},
		"a text that is cached":                      {map[string]string{".git/config": "[diff \"x\"]\n cachetextconv = true\n", ".git/hooks/reference-transaction": "#!/bin/sh\n"}, []string{"git program hook reference-transaction: ROOT/.git/hooks/reference-transaction"}},
		"a helper of an alias":                       {map[string]string{".git/config": lazily + "[credential]\nhelper = evil\n"}, []string{"git program credential.helper: evil"}},
		"behind a broken include":                    {map[string]string{".git/config": "[includeIf \"onbranch:none\"]\n path = broken\n[diff]\n external = x\n", ".git/broken": "[\n"}, []string{"unread broken: cannot be read: line 1 is none of git's configuration", "git program diff.external: x"}},
		"hooks that may be missing":                  {map[string]string{".git/config": "[core]\n hooksPath = :(optional)hk\n"}, []string{"unread config: has hooks in a directory whose place only git knows: :(optional)hk"}},
		"merge drivers":                              {map[string]string{".git/config": "[merge \"ours\"]\n driver = true\n[merge \"x\"]\n driver = ./x %O %A %B\n"}, []string{"git program merge.x.driver: ./x %O %A %B"}},
		"submodules by number":                       {map[string]string{".git/config": "[diff]\n submodule = short\n[status]\n submoduleSummary = false\n"}, nil},
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
func TestGitProgramsHaveDistinctSums(t *testing.T) {
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

// What git starts in a repository that hides it is found, too. Each script makes a repository in the directory BASE, whose program makes the
// file "ran" there. A git that does not start it is passed over.
func TestHiddenPrograms(t *testing.T) {
	const nested = `git init -q .; echo a >a; mkdir dir; git init -q dir/$N; echo 'f filter=e' >dir/$N/.gitattributes; echo x >dir/$N/f
		(cd dir/$N; git add .; git commit -qm x; git config filter.e.clean "touch $BASE/ran;cat"; sleep 1.1; echo y >f); git add . 2>/dev/null; git commit -qm x
		`
	const all = "git status; git status --porcelain; git diff >/dev/null; git log -p -1 >/dev/null || true; git log --remerge-diff -1 >/dev/null || true"
	// lazy DIRECTORY makes a repository that fetches by a program
	const lazy = `lazy() { git init -q $1; (cd $1; echo x >f; git add .; git commit -qm x; git config core.repositoryformatversion 1; git config extensions.partialClone origin
		git config remote.origin.promisor true; git config remote.origin.url $BASE/none; git config remote.origin.uploadpack "touch $BASE/ran;false"); }
		`
	for name, tc := range map[string]struct{ cwd, script, use string }{
		"a .git with a HEAD alone below it": {"inner", `git init -q .; mkdir -p inner/.git; : >inner/.git/HEAD; echo x >inner/f; git add inner/f
			git config diff.external "touch $BASE/ran;:"; echo y >inner/f`, all},
		"hooks in another working tree": {"sub", `git init -q .; mkdir -p sub/hk; echo x >sub/f; git config core.worktree ../sub; git config core.hooksPath hk
			printf '#!/bin/sh\ntouch %s/ran\n' "$BASE" >sub/hk/post-index-change; chmod +x sub/hk/post-index-change; cd sub; git add f; touch -d yesterday f`, all},
		"the format of the index twice": {"", "N=xxxxxxxxxxxxsub\n" + nested + `git rm -q --cached a; git config core.repositoryformatversion 1
			printf '[extensions]\n objectformat = sha256\n objectformat = sha1\n' >>.git/config`, all},
		"a directory of a sparse index": {"", "N=sub\n" + nested + `T=$(git rev-parse HEAD:dir); git rm -q --cached dir/sub; mv dir/sub hold; mkdir -p dir; echo x >dir/x
			git add dir/x; git commit -qm y; O=$(git rev-parse HEAD:dir)
			git config core.sparseCheckout true; git config core.sparseCheckoutCone true; git config index.sparse true; git sparse-checkout set --cone --sparse-index
			perl -MDigest::SHA=sha1 -0777 -i -pe 'BEGIN { ($o, $t) = map { pack "H*", $_ } splice @ARGV, 0, 2 } s/\Q$o\E/$t/; substr($_, -20) = sha1(substr $_, 0, -20)' $O $T .git/index
			mkdir -p dir; mv hold dir/sub`, all},
		"a submodule of a commit": {"", `git init -q .; echo a >a; git init -q sub; (cd sub; echo x >f; git add .; git commit -qm x; git config diff.external "touch $BASE/ran;:")
			git add . 2>/dev/null; git commit -qm x; (cd sub; echo y >f; git commit -qam y); git add .; git commit -qm y; git rm -q --cached sub; git config diff.submodule diff`, all},
		"a merge that is shown": {"", `git init -qb main .; echo 'f merge=e' >.gitattributes; printf '1\n2\n' >f; git add .; git commit -qm x; git checkout -qb other
			printf '1o\n2\n' >f; git commit -qam o; git checkout -q main; printf '1m\n2\n' >f; git commit -qam m; git merge -q other || true; echo 1 >f; git add f
			git commit -qm y; git config merge.e.driver "touch $BASE/ran;exit 1"`, all},
		"NUL in a subsection":  {"", `git init -q .; echo a >a; git add a; git commit -qm x; printf '[diff "external\000"]\n x = touch %s/ran;:\n' "$BASE" >>.git/config; echo b >a`, all},
		"NUL in hooksPath":     {"", `git init -q .; echo a >a; git add a; mkdir hk; printf '#!/bin/sh\ntouch %s/ran\n' "$BASE" >hk/post-index-change; chmod +x hk/*; printf '[core]\n hooksPath = hk\000x\n' >>.git/config; touch -d yesterday a`, all},
		"HEAD with form feed":  {"inner", `git init -q .; mkdir -p inner/.git/objects inner/.git/refs; printf 'ref:\frefs/heads/x\n' >inner/.git/HEAD; echo x >inner/f; git add inner/f; git config diff.external "touch $BASE/ran;:"; echo y >inner/f`, all},
		"HEAD with 300 spaces": {"inner", `git init -q .; mkdir -p inner/.git/objects inner/.git/refs; printf 'ref:%300srefs/heads/x\n' '' >inner/.git/HEAD; echo x >inner/f; git add inner/f; git config diff.external "touch $BASE/ran;:"; echo y >inner/f`, all},
		"commondir over link":  {"inner", `git init -q .; mkdir -p inner/.git/c/objects inner/.git/c/refs inner/.git/far/far; ln -s far/far inner/.git/l; echo l/../c >inner/.git/commondir; echo 'ref: refs/heads/x' >inner/.git/HEAD; echo x >inner/f; git add inner/f; git config diff.external "touch $BASE/ran;:"; echo y >inner/f`, all},
		"help":                 {"", `git init -q .; echo a >a; git add a; git commit -qm x; git config man.viewer x; git config man.x.cmd "touch $BASE/ran;:"`, "git log --help >/dev/null </dev/null || true"},
		"help man.path":        {"", `git init -q .; echo a >a; printf '#!/bin/sh\ntouch %s/ran\n' "$BASE" >m; chmod +x m; git config man.man.path $BASE/m`, "git diff --help >/dev/null </dev/null || true"},
		"help web":             {"", `git init -q .; echo a >a; git config help.format web; git config help.htmlPath http://x; git config help.browser x; git config browser.x.cmd "touch $BASE/ran;:"`, "git status --help || true"},
		"alternate refs":       {"", `git init -q .; echo a >a; git add a; git commit -qm x; git init -q other; echo $BASE/other/.git/objects >.git/objects/info/alternates; git config core.alternateRefsCommand "touch $BASE/ran;:"`, "git log --alternate-refs >/dev/null || true"},
		"diff.submodule log": {"", lazy + `git init -q .; echo a >a; git add a; git commit -qm x; lazy sub; git config diff.submodule log
			git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,sub; git commit -qm y; git update-index --cacheinfo 160000,2222222222222222222222222222222222222222,sub; git commit -qm z; git rm -q --cached sub`, "git log -p >/dev/null || true"},
		"submoduleSummary": {"", lazy + `git init -q .; echo a >a; git add a; git commit -qm x; lazy sub; git -C sub config remote.origin.url git://h/x; git -C sub config core.gitProxy "$BASE/gp"; printf '#!/bin/sh\ntouch %s/ran\n' $BASE >gp; chmod +x gp; git config status.submoduleSummary true
			git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,sub; git commit -qm y; B=$(git rev-parse :a); git update-index --cacheinfo 100644,$B,sub; git update-index --skip-worktree sub`, "git status || true"},
	} {
		t.Run(name, func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			run := func(dir, script string) {
				cmd := exec.Command("bash", "-ec", script)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "BASE="+base, "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
					"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@x", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@x",
					"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false", "GIT_CONFIG_KEY_1=log.showSignature", "GIT_CONFIG_VALUE_1=false",
					"GIT_CONFIG_KEY_2=safe.bareRepository", "GIT_CONFIG_VALUE_2=explicit")
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", out)
			}
			run(base, tc.script)
			_ = os.Remove(filepath.Join(base, "ran"))
			found := Project(filepath.Join(base, tc.cwd), "/home/me")
			run(filepath.Join(base, tc.cwd), tc.use)
			if _, err := os.Stat(filepath.Join(base, "ran")); err != nil {
				t.Skip("this git does not start it")
			}
			require.NotEmpty(t, found.Items)
		})
	}
}

// An index is read as git reads it: by the type in a mode, the length in the flags, and the flag of an extended entry in each version.
func TestIndexEntries(t *testing.T) {
	entry := func(mode uint32, flags uint16, name string) []byte {
		e := make([]byte, 24, 80)
		e = binary.BigEndian.AppendUint32(e, mode)
		e = binary.BigEndian.AppendUint16(append(e, make([]byte, 12+20)...), flags)
		if flags&0x4000 != 0 {
			e = append(e, 0x20, 0)
		}
		e = append(e, name...)
		return append(e, make([]byte, 8-len(e)%8)...)
	}
	index := func(entries ...[]byte) []byte {
		head := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x02"), uint32(len(entries)))
		return append(append(head, bytes.Join(entries, nil)...), make([]byte, 20)...)
	}
	links, directories, err := gitLinks(index(entry(0o100644, 1, "a"), entry(0o160644, 3, "sub"), entry(0o160000, 0x4002, "st"), entry(0o040000, 2, "d/")), false)
	require.NoError(t, err)
	require.Equal(t, []string{"sub", "st"}, links)
	require.Equal(t, []string{"d/"}, directories)
	_, _, err = gitLinks(index(entry(0o100644, 20, "a"), entry(0o160000, 3, "sub")), false)
	require.Error(t, err)
}

// An ordinary sparse checkout is not asked about, with files outside of it that git ignores.
func TestSparseCheckout(t *testing.T) {
	root := t.TempDir()
	cmd := exec.Command("bash", "-ec", `git init -q .; mkdir app lib; echo build >.gitignore; echo x >app/f; echo x >lib/f; git add .
		git -c user.name=A -c user.email=a@a commit -qm x; git sparse-checkout set --cone --sparse-index app; mkdir -p lib/build; echo o >lib/build/o`)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, Project(root, "/home/me").Items)
}

// A configuration whose files include each other many times is read in a bounded time, and is unread.
func TestManyIncludes(t *testing.T) {
	root := repository(t, map[string]string{".git/config": "[include]\n" + strings.Repeat(" path = config\n", 50)})
	require.ElementsMatch(t, []string{"unread config: cannot be read: its files include each other too deeply", "unread config: cannot be read: it is one of too many files"},
		lines(Project(root, "/home/me")))
}
