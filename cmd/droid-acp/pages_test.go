package main

import (
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// update is a flag of this test program.
var update = flag.Bool("update", false, "write docs/options.md anew")

// helps are what --help prints of each command, by its name; "" is for serving.
func helps(t *testing.T) (names []string, texts map[string]string) {
	names, texts = []string{""}, make(map[string]string)
	for _, c := range commands() {
		names = append(names, c.Name())
	}
	for _, name := range append(names, "completion", "completion bash", "completion zsh", "completion fish", "help") {
		got := command("", append(strings.Fields(name), "--help")...)
		require.Equal(t, exitOK, got.code, got.stderr)
		texts[name] = got.stdout
	}
	return names, texts
}

// TestOptionsPage: docs/options.md ends with what each command's --help prints.
func TestOptionsPage(t *testing.T) {
	const path, mark = "../../docs/options.md", "\n## Commands\n"
	there, err := os.ReadFile(path)
	require.NoError(t, err)
	page, _, found := strings.Cut(strings.ReplaceAll(string(there), "\r\n", "\n"), mark)
	require.True(t, found)
	page += mark
	names, texts := helps(t)
	for _, name := range names {
		page += "\n### " + strings.TrimSpace("droid-acp "+name) + "\n\n```text\n" + texts[name] + "```\n"
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
		return
	}
	require.Equal(t, page, strings.ReplaceAll(string(there), "\r\n", "\n"), "run this test with -update")
}

// TestEveryVariableIsInThePage: who has the code read or set another variable puts it into
// the page, or into the table of settings.
func TestEveryVariableIsInThePage(t *testing.T) {
	named := regexp.MustCompile(`os\.(?:Getenv|LookupEnv)\("(\w+)"\)|"(FACTORY_[A-Z_]+|DROID_ACP_[A-Z_]+[A-Z])"`)
	page, err := os.ReadFile("../../docs/options.md")
	require.NoError(t, err)
	found := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || !strings.Contains(path, filepath.FromSlash("cmd/")) && !strings.Contains(path, filepath.FromSlash("internal/")) {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			found++
			require.Contains(t, string(page), "$"+m[1]+m[2], path)
		}
		return err
	}))
	require.Greater(t, found, 15)
}

// A terminal of 80 columns breaks no word of the help. Lines that begin with a tab are
// commands of cobra's, to be copied.
func TestHelpFitsATerminal(t *testing.T) {
	_, texts := helps(t)
	for name, text := range texts {
		for line := range strings.Lines(text) {
			require.True(t, len(line) <= 81 || line[0] == '\t', "%s: %s", name, line)
		}
	}
}

// The manual page is made for the programs that show one.
func TestManualPage(t *testing.T) {
	got := command("", "man")
	require.Equal(t, exitOK, got.code, got.stderr)
	for _, flag := range []string{"follow-up", "expect-file", "forget"} {
		require.Contains(t, got.stdout, `\-\-`+strings.ReplaceAll(flag, "-", `\-`)+" ")
	}
	dated := strings.Replace(got.stdout, `DROID-ACP 1 ""`, `DROID-ACP 1 "2026-01-31"`, 1)
	for program, args := range map[string][]string{"mandoc": {"-T", "lint"}, "groff": {"-man", "-ww", "-z"}} {
		t.Run(program, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skip("no " + program + " here: the manual page is not checked by it")
			}
			cmd := exec.Command(program, args...)
			cmd.Stdin = strings.NewReader(dated)
			out, _ := cmd.CombinedOutput()
			require.Empty(t, string(out), "what it complains of")
		})
	}
}
