//go:build e2e && linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// gitLayout is a repository in which git starts a program when it inspects the repository. Its script runs in the repository's root with
// the program in $RUN; a session is in sub/deep below that.
type gitLayout struct {
	name, script string
	place        string // the file or directory, below the root, that names the program
	later        bool   // droid 0.99 does not start it: it lists no files, and the model's commands have $GIT_SSH_COMMAND
}

// gitStart makes a commit in the current directory. With a filter for a.txt, git reads the file again.
const gitStart = `
start() {
	git init -q -b main .
	git config user.name A; git config user.email a@a
	printf 'one\n' >a.txt; printf 'one\n' >b.txt; printf 'a.txt filter=x\nb.txt diff=y\n' >.gitattributes
	git add a.txt b.txt .gitattributes; git commit -qm one
}
changed() { touch -d 2020-01-01 a.txt; printf 'two\n' >b.txt; }
script() { mkdir -p "$(dirname "$1")"; printf '#!/bin/sh\n%s\n' "$RUN" >"$1"; chmod +x "$1"; }
lacks() { rm -f "$1/objects/$(git --git-dir="$1" rev-parse HEAD:a.txt | sed 's,^..,&/,')"; } # an object that git then fetches
partial() { git config core.repositoryformatversion 1; git config extensions.partialClone origin; git config remote.origin.promisor true; git config remote.origin.url "$1"; lacks .git; }
bare() { mkdir -p sub/deep; cd sub/deep; start; mv .git/* .; rmdir .git; export GIT_DIR=.; git config core.bare false; git config core.worktree .; }
GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
export GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0
set -e
`

var gitLayouts = []gitLayout{
	{"filter", `start; git config filter.x.clean "$RUN; cat"; changed`, ".git", false},
	{"filter process", `start; git config filter.x.process "$RUN; false"; changed`, ".git", false},
	{"filter in an odd spelling", `start; printf '[FILTER "x"] CLEAN = "%s"\\\n; cat # x\n' "$RUN" >>.git/config; changed`, ".git", false},
	{"filter in an included file", `start; printf '[filter "x"]\n clean = "%s; cat"\n' "$RUN" >more; git config include.path ../more; changed`, "more", false},
	{"filter in a file included on a condition", `start; printf '[filter "x"]\n clean = "%s; cat"\n' "$RUN" >more; git config includeIf.gitdir:/.path "$PWD/more"; changed`, "more", false},
	{"filter of a worktree", `start; git config extensions.worktreeConfig true; git config --worktree filter.x.clean "$RUN; cat"; changed`, ".git", false},
	{"filter seen from a linked worktree", `rm -rf ../main ../linked .git; mkdir ../main; (cd ../main; start; git worktree add -q --detach ../linked; git config filter.x.clean "$RUN; cat")
		mv ../linked/a.txt ../linked/b.txt ../linked/.gitattributes ../linked/.git .; rmdir ../linked; git -C ../main worktree repair "$PWD"; changed`, "../main", false},
	{"filter of a submodule", `start; rm -rf ../lib; mkdir ../lib; (cd ../lib; start); git submodule -q add ../lib lib; cd lib; git config filter.x.clean "$RUN; cat"; changed`, ".git", false},
	{"filter of a repository within", `start; mkdir within; (cd within; start); git add within; cd within; git config filter.x.clean "$RUN; cat"; changed`, "within", false},
	{"filter of a bare repository that a clone brings", `bare; git config filter.x.clean "$RUN; cat"; changed`, "sub/deep", false},
	{"filter of a bare repository elsewhere in a clone", `mkdir -p sub/deep/elsewhere; cd sub/deep/elsewhere; start; mv .git/* .; rmdir .git; export GIT_DIR=.; git config core.bare false; git config core.worktree .
		git config filter.x.clean "$RUN; cat"; changed`, "sub/deep/elsewhere", false},
	{"filter of a bare repository around", `mkdir -p sub/deep; start; mv .git/* .; rmdir .git; export GIT_DIR=.; git config core.bare false; git config core.worktree .; git config filter.x.clean "$RUN; cat"; changed`, "", false},
	{"external diff", `start; git config diff.external "$RUN; true"; changed`, ".git", false},
	{"driver of a diff", `start; git config diff.y.command "$RUN; true"; changed`, ".git", false},
	{"text conversion", `start; git config diff.y.textconv "sh -c '$RUN; cat \$0'"; changed`, ".git", false},
	{"signature", `start; script gpg; git config gpg.program "$PWD/gpg"; git config log.showSignature true; SIGNED`, ".git", false},
	{"watcher", `start; git config core.fsmonitor "$RUN; false"`, ".git", false},
	{"watcher in an included file", `start; printf '[core]\nfsmonitor = %s;false\n' "$RUN" >more; git config include.path ../more`, "more", false},
	{"watcher of a worktree", `start; git config extensions.worktreeConfig true; git config --worktree core.fsmonitor "$RUN; false"`, ".git", false},
	{"watcher in an odd spelling", `start; printf '[x "]"] y = [\n[core] bare = false\nfsmonitor = %s;false\n' "$RUN" >>.git/config`, ".git", false},
	{"watcher of a submodule", `start; rm -rf ../lib; mkdir ../lib; (cd ../lib; start); git submodule -q add ../lib lib; git -C lib config core.fsmonitor "$RUN; false"`, ".git", false},
	{"watcher of a bare repository that a clone brings", `bare; git config core.fsmonitor "$RUN; false"`, "sub/deep", false},
	{"upload-pack of a lazy fetch", `start; partial "$PWD"; git config remote.origin.uploadpack "$RUN; false"`, ".git", false},
	{"ssh of a lazy fetch", `start; mkdir -p sub/deep; cp a.txt sub/deep; git add sub; git commit -qm sub; partial ssh://host.invalid/x; git config core.sshCommand "$RUN; false"`, ".git", true},
	{"transport of a lazy fetch", `start; partial "ext::sh -c $(printf %s "$RUN" | sed 's/ /% /g')"; git config protocol.ext.allow always`, ".git", false},
	{"lazy fetch of a bare repository that a clone brings", `bare; partial() { git config core.repositoryformatversion 1; git config extensions.partialClone origin; git config remote.origin.promisor true; git config remote.origin.url "$PWD"; lacks .; }
		partial; git config remote.origin.uploadpack "$RUN; false"`, "sub/deep", false},
	{"hook of a lazy fetch", `start; rm -rf ../origin; git clone -q --bare . ../origin; git -C ../origin config uploadpack.allowFilter true; git -C ../origin config uploadpack.allowAnySHA1InWant true
		rm -rf .git; git clone -q --no-checkout --filter=blob:none "file://$PWD/../origin" x; mv x/.git .; rmdir x; git config gc.autoPackLimit 1; script .git/hooks/pre-auto-gc`, ".git", false},
	{"hook at a change of the index", `start; script .git/hooks/post-index-change; changed`, ".git", false},
	{"hook in another directory", `start; script hooks/post-index-change; git config core.hooksPath hooks; changed`, "hooks", false},
}

// plant creates the layout in root, with run as its program.
func (l gitLayout) plant(root, run string) error {
	if err := os.RemoveAll(filepath.Join(root, ".git")); err != nil {
		return err
	}
	script, signed := strings.CutSuffix(l.script, "; SIGNED")
	cmd := exec.Command("sh", "-c", gitStart+script)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "RUN="+run)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", l.name, err, out)
	}
	if signed {
		return signedCommit(root)
	}
	return nil
}

// lookAtGit makes the model run what droid runs without asking.
var lookAtGit = modelserver.Step{Tools: []modelserver.ToolCall{
	execute("git-1", "git status"), execute("git-2", "git diff"), execute("git-3", "git log -p -3"), execute("git-4", "git log --show-signature -1"),
	execute("git-5", "git -C elsewhere status"),
}}

// No program that a repository's configuration or its hooks name starts behind droid-acp without a yes, neither by droid's own git nor by
// commands that droid runs without asking. With droid alone each of them starts, which a short run does not check.
func TestGitLayouts(t *testing.T) {
	for _, l := range gitLayouts {
		t.Run(l.name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
				model.On("look at git", lookAtGit, modelserver.Step{Text: "Done."})
				require.NoError(t, os.Mkdir(filepath.Join(h.dir, "marks"), 0o755))
				x := newTraps(t)
				x.turn = turnLimit
				tree := []part{{git: l, run: "touch " + filepath.Join(h.dir, "marks", "ran")}}
				root := filepath.Join(h.dir, "tree", "root")
				cwd, err := plant(root, tree)
				require.NoError(t, err)
				fired, refused := x.behind(t, h, cwd, []string{"look at git"})
				require.Empty(t, fired)
				t.Logf("%.500s", refused)
				if testing.Short() || l.later && h.version == oldestDroid {
					return
				}
				cwd, err = plant(root, tree)
				require.NoError(t, err)
				require.NotEmpty(t, x.alone(t, h, cwd, []string{"look at git"}), "it matters")
			})
		})
	}
}

// Without a yes no session opens if git would start a program of the repository, by any method. The error says which, and what to do.
func TestGitProgramsNeedAYes(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("look at git", lookAtGit, modelserver.Step{Text: "Done."})
		r := hostile{root: h.work, marks: filepath.Join(h.dir, "marks")}
		require.NoError(t, os.Mkdir(r.marks, 0o755))
		require.NoError(t, gitLayout{name: "ordinary", script: "start; changed"}.plant(h.work, ""))
		c := startAgent(t, h)
		s := c.open(h)
		s.prompt("look at git").done()
		c.end(h)
		require.NoError(t, exec.Command("git", "-C", h.work, "config", "filter.x.clean", r.mark("filter")+"; cat").Run())
		require.NoError(t, os.Chtimes(filepath.Join(h.work, "a.txt"), time.Time{}, time.Unix(1e9, 0))) // git diff has written the index

		for _, args := range [][]string{nil, {"--trust", "never"}} {
			c = startAgent(t, h, args...).initialize()
			for _, method := range []string{"session/new", "session/load", "session/resume", "session/fork"} {
				params := map[string]any{"cwd": h.work, "mcpServers": []any{}}
				if method != "session/new" {
					params["sessionId"] = s.id
				}
				_, err := c.call(method, params)
				require.NotNil(t, err, method)
				if h.kept && len(args) > 0 && (method == "session/load" || method == "session/resume") {
					require.Contains(t, err.Error(), "its agent was not started with `--trust never`", method)
					continue
				}
				require.Contains(t, err.Error(), "`filter.x.clean` `"+r.mark("filter")+"; cat` (in `.git/config`)")
				require.Contains(t, err.Error(), "trust --yes")
			}
			require.Empty(t, r.settled(t))
			c.end(h)
		}
		run := func(args ...string) error {
			cmd := exec.CommandContext(t.Context(), programs.Agent, args...)
			cmd.Dir, cmd.Env = h.work, h.env
			out, err := cmd.CombinedOutput()
			t.Logf("%v: %s", args, out)
			return err
		}
		require.Error(t, run("smoke", "--droid", h.droid, "look at git"))
		_ = run("doctor", "--droid", h.droid) // it may find the machine too busy
		require.Error(t, run("trust"), "not trusted")
		require.Empty(t, r.settled(t))

		require.NoError(t, run("trust", "--yes"))
		c = startAgent(t, h)
		c.open(h).prompt("look at git").done()
		require.Equal(t, []string{"filter"}, r.settled(t))
	})
}

// ordinaryGit are typical repositories, in project, and what a model does there. The output of the commands, and the resulting files, are
// in out.
var ordinaryGit = map[string]struct{ setup, commands string }{
	"git-lfs, husky, submodules, worktrees": {`
		mkdir lib; (cd lib; start)
		mkdir project; cd project; start; git submodule -q add ../lib lib
		git config filter.lfs.clean 'git-lfs clean -- %f'; git config filter.lfs.smudge 'git-lfs smudge -- %f'; git config filter.lfs.required true
		echo '*.bin filter=lfs diff=lfs merge=lfs -text' >.gitattributes; echo large >x.bin
		for hook in pre-commit commit-msg post-commit post-checkout pre-auto-gc; do RUN="echo $hook >>../hooks" script .husky/_/$hook; done
		git config core.hooksPath .husky/_; git add .; git commit -qm two`,
		`echo larger >x.bin; git add -A; git commit -qm three; git cat-file -p HEAD:x.bin; git status --short
		git checkout -q HEAD~1; cat x.bin; git checkout -q -; cat x.bin; git diff HEAD~1
		git -C lib log --oneline; echo y >lib/y; git status --short; git -C lib add y; git -C lib -c user.name=A -c user.email=a@a commit -qm y; git -C lib push -q origin HEAD:refs/heads/y; git add lib; git commit -qm lib
		git submodule update --init --recursive; git submodule foreach git status --short
		git worktree add -q ../other; (cd ../other; cat x.bin; echo z >z; git add z; git commit -qm z; git submodule update -q --init; git log --oneline)
		git stash; git rebase -q HEAD~1; git gc -q; git log --format=%T; cat ../hooks`},
	"a partial clone": {`
		mkdir origin; (cd origin; start; for i in 1 2 3; do echo $i >a.txt; git commit -qam $i; done; git config uploadpack.allowFilter true; git config uploadpack.allowAnySHA1InWant true; git branch side HEAD~2)
		git clone -q --filter=blob:none "file://$PWD/origin" project; cd project; git config user.name A; git config user.email a@a`,
		`git log -p --format=%T; git checkout -q origin/side; cat a.txt; git checkout -q -b mine origin/main; git diff origin/side
		(cd ../origin; echo 4 >a.txt; git commit -qam 4); git fetch -q; git merge -q origin/main; git show --format=%T; git fetch --refetch -q; git status --short
		echo mine >m; git add m; git commit -qm m; git push -q origin mine; git -C ../origin log --format=%T mine`},
}

// A model's git behaves behind droid-acp as without it, in repositories whose programs are common ones, and no question is asked about
// these.
func TestOrdinaryGit(t *testing.T) {
	for name, c := range ordinaryGit {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
				bin := filepath.Join(h.dir, "bin")
				require.NoError(t, os.MkdirAll(bin, 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(bin, "git-lfs"), []byte("#!/bin/sh\ncase $1 in clean) sed 's/^/lfs /' ;; smudge) sed 's/^lfs //' ;; esac\n"), 0o755))
				dates := []string{"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000"}
				h.env = append(append(h.env, "PATH="+bin+":"+os.Getenv("PATH"), "GIT_ALLOW_PROTOCOL=file"), dates...)
				run := func(dir, script string) {
					t.Helper()
					cmd := exec.Command("bash", "-c", script)
					cmd.Dir, cmd.Env = dir, h.env
					out, err := cmd.CombinedOutput()
					require.NoError(t, err, "%s", out)
				}
				const commands = "sh ../commands >../out 2>&1" // droid 0.225 runs no line that has both git add and git commit
				alone, behind := filepath.Join(h.dir, "alone"), filepath.Join(h.dir, "behind")
				for _, dir := range []string{alone, behind} {
					require.NoError(t, os.Mkdir(dir, 0o755))
					require.NoError(t, os.WriteFile(filepath.Join(dir, "commands"), []byte(c.commands), 0o644))
					run(dir, gitStart+c.setup)
				}
				run(filepath.Join(alone, "project"), commands)
				model.On("work", modelserver.Step{Tools: []modelserver.ToolCall{execute("work", commands)}}, modelserver.Step{Text: "Done."})
				h.work = filepath.Join(behind, "project")
				client := startAgent(t, h).onPermission(allowOnce)
				require.Equal(t, []string{"completed"}, client.open(h).prompt("work").done().tools())
				require.Len(t, client.asked(), 1, "the command alone")
				want, err := os.ReadFile(filepath.Join(alone, "out"))
				require.NoError(t, err)
				got, err := os.ReadFile(filepath.Join(behind, "out"))
				require.NoError(t, err)
				require.Equal(t, string(want), strings.ReplaceAll(string(got), behind, alone))
				t.Logf("%s", got)
			})
		})
	}
}
