package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// helps returns the output of --help of each command, by name; "" is for serving.
func helps(t *testing.T) map[string]string {
	names, texts := []string{""}, make(map[string]string)
	for _, c := range commands() {
		names = append(names, c.Name())
	}
	for _, name := range append(names, "completion", "completion bash", "completion zsh", "completion fish", "help") {
		got := command("", append(strings.Fields(name), "--help")...)
		require.Equal(t, exitOK, got.code, got.stderr)
		texts[name] = got.stdout
	}
	return texts
}

// TestEveryVariableIsExplained: who has the code read or set another variable puts it into
// docs/options.md, or into the table of settings, from which --help has it.
func TestEveryVariableIsExplained(t *testing.T) {
	named := regexp.MustCompile(`os\.(?:Getenv|LookupEnv)\("(\w+)"\)|"(FACTORY_[A-Z_]+|DROID_ACP_[A-Z_]+[A-Z])"`)
	page, err := os.ReadFile("../../docs/options.md")
	require.NoError(t, err)
	explained, found := string(page), 0
	for _, text := range helps(t) {
		explained += text
	}
	for _, code := range []string{"../../cmd", "../../internal"} {
		require.NoError(t, filepath.WalkDir(code, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range named.FindAllStringSubmatch(string(text), -1) {
				found++
				require.Contains(t, explained, "$"+m[1]+m[2], path)
			}
			return err
		}))
	}
	require.Greater(t, found, 15)
}

// A terminal of 80 columns breaks no word of the help. Lines that begin with a tab are
// commands of cobra's, to be copied.
func TestHelpFitsATerminal(t *testing.T) {
	for name, text := range helps(t) {
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
