//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// completed are lines to complete, and the words that are offered.
var completed = map[string][]string{
	"droid-acp sm":                    {"smoke"},
	"droid-acp --fi":                  {"--files"},
	"droid-acp --mode ":               {"normal", "spec", "auto-low", "auto-medium", "auto-high"},
	"droid-acp smoke --effort m":      {"minimal", "medium", "max"},
	"droid-acp --files ":              {"editor", "disk"},
	"droid-acp acp --follow-up ":      {"queue", "steer"},
	"droid-acp smoke --permissions ":  {"refuse", "allow"},
	"droid-acp completion ":           {"bash", "zsh", "fish", "powershell"},
	"droid-acp help lo":               {"login"},
	"droid-acp smoke --log-file note": {"notes.txt"},
}

// inShell runs a script of a shell in which "droid-acp" is this program, and returns what
// it prints. There is a file notes.txt in its directory.
func inShell(t *testing.T, script string, shell ...string) string {
	t.Helper()
	if _, err := exec.LookPath(shell[0]); err != nil {
		t.Skip("no " + shell[0] + " here: its completions are not tested")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(dir, "droid-acp")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell[0], append(shell[1:], "-c", script)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir, "TERM=dumb", "GORACE=atexit_sleep_ms=0", envProgram + "=1"}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

func TestCompletionInBash(t *testing.T) {
	const library = "/usr/share/bash-completion/bash_completion"
	if _, err := os.Stat(library); err != nil {
		t.Skip("no bash-completion here: the completions for bash are not tested")
	}
	for line, words := range completed {
		if strings.Contains(line, "-file ") {
			words = nil // bash itself completes the names of files where we offer nothing
		}
		out := inShell(t, `
compopt() { :; } # bash has it while it completes, only
source `+library+`
source <(droid-acp completion bash)
COMP_LINE='`+line+`' COMP_POINT=${#COMP_LINE} COMP_TYPE=9
read -ra COMP_WORDS <<<"$COMP_LINE"
[[ $COMP_LINE == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
__start_droid-acp
printf '%s\n' "${COMPREPLY[@]}"`, "bash", "--norc")
		require.ElementsMatch(t, words, strings.Fields(out), line)
	}
}

func TestCompletionInFish(t *testing.T) {
	for line, words := range completed {
		out := inShell(t, "droid-acp completion fish | source\ncomplete -C '"+line+"'", "fish", "--no-config")
		var offered []string
		for l := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
			word, _, _ := strings.Cut(l, "\t")
			offered = append(offered, word)
		}
		require.ElementsMatch(t, words, offered, line)
	}
}

// zsh completes in a terminal only, so a second zsh sits in one. It says what it adds.
func TestCompletionInZsh(t *testing.T) {
	t.Parallel()
	var lines []string
	for line := range completed {
		lines = append(lines, "'"+line+"'")
	}
	out := inShell(t, `
zmodload zsh/zpty
droid-acp completion zsh > _droid-acp
zpty z zsh -f -i
zpty -w z 'PROMPT=; fpath=($PWD $fpath); autoload -U compinit; compinit -u -D
compadd() { builtin compadd -O found "$@"; for w in $found; echo "<$w>"; builtin compadd "$@" }
finish() { BUFFER=; echo THE""END }; zle -N finish; bindkey "^X" finish; bindkey "^I" complete-word; echo THE""END'
zpty -r z out '*THEEND*'
for line in `+strings.Join(lines, " ")+`; do
	zpty -w -n z $line$'\t\x18'
	zpty -r z out '*THEEND*'
	print -r -- "LINE:$line:$out"
done`, "zsh", "-f")
	for line, words := range completed {
		_, said, found := strings.Cut(out, "LINE:"+line+":")
		require.True(t, found, out)
		said, _, _ = strings.Cut(said, "THEEND")
		for _, word := range words {
			require.Contains(t, said, "<"+word+">", line)
		}
	}
}
