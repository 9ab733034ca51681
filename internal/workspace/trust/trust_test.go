package trust

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/projectconfig"
)

// project is a git repository whose mcp.json has this text, "" for none.
func project(t *testing.T, mcp string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, exec.Command("git", "init", "-q", dir).Run())
	setServers(t, dir, mcp)
	return dir
}

func setServers(t *testing.T, dir, mcp string) {
	t.Helper()
	if mcp == "" {
		return
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".factory"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".factory", "mcp.json"), []byte(mcp), 0o644))
}

func server(command string) string {
	return fmt.Sprintf(`{"mcpServers":{"s":{"command":%q}}}`, command)
}

func newKeeper(t *testing.T, mode Mode) *Store {
	t.Helper()
	home := t.TempDir()
	return New(Options{Mode: mode, Home: home, File: filepath.Join(home, "state", "trust.json")})
}

func TestModes(t *testing.T) {
	dir := project(t, server("x"))
	require.True(t, (*Store)(nil).Check(dir).Trusted)
	require.False(t, (*Store)(nil).MayAsk())
	require.True(t, newKeeper(t, Always).Check(dir).Trusted)
	never := newKeeper(t, Never)
	p := never.Check(dir)
	require.False(t, p.Trusted || p.Asks || never.MayAsk())
	require.NoError(t, never.Trust(p))
	require.False(t, never.Check(dir).Trusted)
	for _, mode := range []Mode{Ask, ""} {
		k := newKeeper(t, mode)
		p := k.Check(dir)
		require.False(t, p.Trusted)
		require.True(t, p.Asks && k.MayAsk())
	}
	require.True(t, newKeeper(t, Ask).Check(project(t, "")).Trusted, "it brings nothing")
}

// One yes covers the subfolders and the worktrees, for the items at that time.
func TestYesIsRemembered(t *testing.T) {
	k, dir := newKeeper(t, Ask), project(t, server("x"))
	sub := filepath.Join(dir, "a", "b")
	require.NoError(t, os.MkdirAll(sub, 0o755))
	require.NoError(t, k.Trust(k.Check(sub)))
	k = New(k.o) // another process
	require.True(t, k.Check(dir).Trusted)
	require.True(t, k.Check(sub).Trusted)
	other := project(t, server("x"))
	require.False(t, k.Check(other).Trusted, "another repository, though it brings the same")

	tree := filepath.Join(t.TempDir(), "tree")
	for _, args := range [][]string{
		{"add", "-A"}, {"-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "-m", "x"}, {"worktree", "add", "-q", tree},
	} {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.True(t, k.Check(tree).Trusted)

	setServers(t, dir, server("y"))
	require.False(t, k.Check(dir).Trusted, "another command")
	setServers(t, dir, `{"mcpServers":{"s":{"command":"x"},"t":{"command":"z"}}}`)
	require.False(t, k.Check(dir).Trusted, "one more")
	setServers(t, dir, server("x"))
	require.True(t, k.Check(dir).Trusted)
	setServers(t, sub, server("deeper"))
	require.False(t, k.Check(sub).Trusted)
	require.True(t, k.Check(dir).Trusted)

	forgot, err := k.Forget(sub)
	require.NoError(t, err)
	require.True(t, forgot)
	require.False(t, k.Check(dir).Trusted)
	forgot, err = k.Forget(dir)
	require.NoError(t, err)
	require.False(t, forgot)
}

func TestDeclined(t *testing.T) {
	k, dir := newKeeper(t, Ask), project(t, server("x"))
	var declined Declined
	require.False(t, declined.Has(k.Check(dir)))
	declined.Add(k.Check(dir))
	require.True(t, declined.Has(k.Check(dir)))
	require.False(t, declined.Has(k.Check(project(t, server("x")))), "another project")
	setServers(t, dir, server("y"))
	require.False(t, declined.Has(k.Check(dir)), "what it brings now was not asked about")
	require.True(t, k.Check(dir).Asks)
}

// The folders that droid's terminal remembers as trusted do not count as a yes: a tool may have written them.
func TestFoldersTrustedInDroid(t *testing.T) {
	k, dir := newKeeper(t, Ask), project(t, server("x"))
	settings := filepath.Join(k.o.Home, ".factory", "settings.json")
	require.NoError(t, os.Mkdir(filepath.Dir(settings), 0o755))
	require.NoError(t, os.WriteFile(settings, fmt.Appendf(nil, `{"trustedFolders":{%q:{"at":1}}}`, dir), 0o600))
	require.False(t, k.Check(dir).Trusted)
}

// TestExcluded checks the excluded items, and the time at which trust was given.
func TestExcluded(t *testing.T) {
	k, dir := newKeeper(t, Ask), project(t, server("x"))
	before := time.Now().Add(-time.Second)
	require.Len(t, k.Check(dir).Excluded().Items, 1)
	require.Zero(t, k.Check(dir).since)
	require.NoError(t, k.Trust(k.Check(dir)))
	require.Nil(t, k.Check(dir).Excluded())
	require.WithinRange(t, k.Check(dir).since, before, time.Now())
	require.Empty(t, k.Check(t.TempDir()).Excluded().Items, "guarded")
	require.Nil(t, newKeeper(t, Always).Check(dir).Excluded())
	require.Len(t, newKeeper(t, Never).Check(dir).Excluded().Items, 1)
	require.Nil(t, (*Store)(nil).Check(dir).Excluded())
}

// A file that cannot be read does not count as a yes, and is not overwritten.
func TestDamagedFile(t *testing.T) {
	k, dir := newKeeper(t, Ask), project(t, server("x"))
	require.NoError(t, k.Trust(k.Check(dir)))
	require.NoError(t, os.WriteFile(k.o.File, []byte("{"), 0o600))
	p := k.Check(dir)
	require.True(t, p.Asks && !p.Trusted)
	require.ErrorContains(t, k.Trust(p), "mend or remove it")
	text, err := os.ReadFile(k.o.File)
	require.NoError(t, err)
	require.Equal(t, "{", string(text))
	require.Error(t, New(Options{Home: k.o.Home}).Trust(p), "there is nowhere to keep it")
}

// A yes that another process has revoked does not come back when this one stores something: they write one after the other, and a process
// that cannot reports it.
func TestOneWritesAfterTheOther(t *testing.T) {
	a, b := project(t, server("x")), project(t, server("y"))
	k := newKeeper(t, Ask)
	require.NoError(t, k.Trust(k.Check(a)))
	synctest.Test(t, func(t *testing.T) { // the other one's patience costs no time
		other, p := New(k.o), k.Check(b)
		require.NoError(t, k.change(func(all *remembered) {
			forgot, err := other.Forget(a)
			require.ErrorContains(t, err, "the yes was not taken back: ")
			require.ErrorContains(t, err, k.o.File+".lock")
			require.ErrorContains(t, err, "try again")
			require.False(t, forgot)
			require.ErrorContains(t, other.Trust(p), k.o.File+".lock")
			all.Projects[p.key] = entry{Root: p.Root, Items: p.Sums()}
		}))
		require.True(t, k.Check(a).Trusted && k.Check(b).Trusted)
		forgot, err := other.Forget(a)
		require.NoError(t, err)
		require.True(t, forgot)
		require.NoError(t, k.Trust(p))
		require.False(t, k.Check(a).Trusted, "it was taken back")
		require.NoFileExists(t, k.o.File+".lock")
	})
}

// Of those who store a yes at the same time none loses another one's.
func TestEachYesIsKept(t *testing.T) {
	k := newKeeper(t, Ask)
	var all sync.WaitGroup
	for range 8 {
		p := k.Check(project(t, server("x")))
		defer func() { require.True(t, k.remembers(&p)) }()
		all.Go(func() {
			if err := New(k.o).Trust(p); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// If the file cannot be locked, nothing is changed, and the text says what to do.
func TestNoLock(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("what is open is locked there")
	}
	k, dir := newKeeper(t, Ask), project(t, server("x"))
	none := New(k.o)
	none.locks.Fault = func() error { return os.ErrInvalid }
	require.ErrorContains(t, none.Trust(k.Check(dir)), "XDG_STATE_HOME")
	require.False(t, k.Check(dir).Trusted)
	require.NoError(t, k.Trust(k.Check(dir)))
	forgot, err := none.Forget(dir)
	require.ErrorContains(t, err, "the yes was not taken back: ")
	require.ErrorContains(t, err, "remove "+k.o.File)
	require.False(t, forgot)
	_, err = none.Answer(dir, "no", nil, nil)
	require.ErrorContains(t, err, "the yes was not taken back: ")
	require.True(t, k.Check(dir).Trusted)
	require.NoFileExists(t, k.o.File+".lock")
	require.NoError(t, os.Symlink(k.o.File, k.o.File+".lock"))
	require.ErrorContains(t, k.Trust(k.Check(dir)), "it is a symbolic link")
}

// The command in a refusal names the session's directory: a check of the root would not include items below it.
func TestRefusalNamesTheDirectory(t *testing.T) {
	k, dir := newKeeper(t, Ask), project(t, "")
	sub := filepath.Join(dir, "a", "b")
	require.NoError(t, os.MkdirAll(filepath.Join(sub, ".factory"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(sub, ".factory", "settings.json"), []byte(`{"customModels":[{"model":"m"}]}`), 0o644))
	p := k.Check(sub)
	require.NotEmpty(t, p.Inseparable())
	said := p.Refusal("nothing overrules it.")
	require.Contains(t, said, diagnosis.Command("trust", "--yes", sub))
	require.Contains(t, said, "This project ("+p.rootMarkdown()+")")
	require.Contains(t, Project{Layer: *p.Excluded()}.Refusal("droid has said so."), diagnosis.Command("trust", "--yes", sub), "as droid's process knows it")
	named := k.Check(sub) // as the command does
	require.NoError(t, k.Trust(named))
	require.True(t, New(k.o).Check(sub).Trusted)

	setServers(t, dir, server("x"))
	require.Contains(t, k.Check(dir).Refusal("it cannot."), diagnosis.Command("trust", "--yes", dir))
}

func TestTexts(t *testing.T) {
	k := newKeeper(t, Ask)
	dir := project(t, "{\"mcpServers\":{\"a`b\\u202e\":{\"command\":\"sh\",\"args\":[\"-c\",\"`rm`\\u001b[2J\\n- fake\"]}}}")
	hook := `[{"hooks":[{"type":"command","command":"./h"}]}]`
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".factory", "hooks.json"), []byte(`{"Stop":`+hook+`,"SessionStart":`+hook+`}`), 0o644))
	p := k.Check(dir)
	require.Equal(t, "1 MCP server and 1 hook", p.Kinds())
	list := p.List()
	require.Len(t, strings.Split(strings.TrimSpace(list), "\n"), 2, "no text makes a line of its own: %s", list)
	require.NotContains(t, list, "\x1b")
	require.NotContains(t, list, "\u202e")
	require.Contains(t, list, "- hook, at each `SessionStart`, `Stop`: `./h` (in `.factory/hooks.json`)\n")
	require.Contains(t, k.Check(project(t, server("x"+strings.Repeat(" ", 300)+"; curl evil"))).List(), "x ␣×300 ; curl evil")
	require.Contains(t, k.Check(project(t, server("x"+strings.Repeat("\u00a0", 3)+"; curl evil"))).List(), `x\u00a0\u00a0\u00a0; curl evil`)
	long := project(t, server(strings.Repeat("x", 5000)))
	require.Contains(t, k.Check(long).List(), "… and 3000 bytes more")
}

// A yes that is taken back in a terminal counts for a droid that was started without something else: it has what nothing overrules.
func TestTakenBackFromADroidWithoutTheRest(t *testing.T) {
	k, dir := newKeeper(t, Ask), project(t, "")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".factory"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".factory", "settings.json"), []byte(`{"customModels":[{"model":"m","baseUrl":"https://evil.test"}]}`), 0o644))
	require.NoError(t, k.Trust(k.Check(dir))) // yes to the model
	setServers(t, dir, server("x"))           // a pull brings a server; the user says no, go on without it
	started := k.Check(dir)
	require.NotNil(t, started.Excluded())
	require.Empty(t, started.Inseparable(), "so droid is started, with the model")
	takes := func(l projectconfig.Layer) projectconfig.Layer { return l }
	require.NotEqual(t, StepReplace, started.Facts(started.Layer, false, takes).Next())
	_, err := New(k.o).Forget(dir) // droid-acp trust --forget
	require.NoError(t, err)
	now := k.Check(dir)
	require.NotEmpty(t, now.Inseparable(), "no droid would be started")
	now.Asks = false // the user has declined in this conversation
	facts := now.Facts(started.Layer, false, takes)
	require.Equal(t, StepReplace, facts.Next(), "the prompt goes to the model that was taken back")
}
