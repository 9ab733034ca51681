package doctor

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the screens in testdata")

// TestScreens: the doctor says what the screens in testdata have. The real droid is held to the
// same screens in e2e.
func TestScreens(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the screens have the paths of Linux")
	}
	for screen, fake := range map[string]string{"missing": "", "loggedout": "factory", "own": "own"} {
		h := newHouse(t, fake)
		if fake == "own" {
			h.write(".factory/settings.json", `{"customModels": [{"model": "scripted", "displayName": "Scripted", "provider": "generic-chat-completion-api"}]}`)
		}
		got, file := neutral(h.report()), filepath.Join("testdata", screen+".golden")
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			continue
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), got, "go test ./internal/cli/doctor -run TestScreens -update writes them")
	}
}

// TestShownScreen: docs/troubleshooting.md shows a part of what the doctor says where droid is missing.
func TestShownScreen(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "troubleshooting.md"))
	require.NoError(t, err)
	_, shown, _ := strings.Cut(string(page), "```text\n")
	shown, _, _ = strings.Cut(shown, "```")
	whole, err := os.ReadFile(filepath.Join("testdata", "missing.golden"))
	require.NoError(t, err)
	require.NotEmpty(t, shown)
	require.Contains(t, string(whole), shown)
}

// TestEveryCheckIsDocumented: the table of docs/troubleshooting.md has them in their order.
func TestEveryCheckIsDocumented(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "troubleshooting.md"))
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(data), "## What the doctor looks at")
	section, _, _ = strings.Cut(section, "\n## ")
	var want, got []string
	for _, r := range table {
		want = append(want, r.id)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|").FindAllStringSubmatch(section, -1) {
		got = append(got, m[1])
	}
	require.Equal(t, want, got)
}

// neutral is a report as it is on any machine.
func neutral(r Report) string {
	r.Version, r.System = "VERSION", "linux/amd64"
	return strings.ReplaceAll(shown(r), "linux/"+runtime.GOARCH, "linux/amd64")
}
