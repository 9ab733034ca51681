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

var update = flag.Bool("update", false, "write the screens into docs/troubleshooting.md")

// screensForm finds the screens of the document.
var screensForm = regexp.MustCompile("(?s)```text\n(droid-acp .*?)```")

// TestScreens: docs/troubleshooting.md shows what the doctor says. The real droid is
// held to the same screens in e2e.
func TestScreens(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the document shows the paths of Linux")
	}
	file := filepath.Join("..", "..", "..", "docs", "troubleshooting.md")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var want, got []string
	for _, m := range screensForm.FindAllStringSubmatch(string(data), -1) {
		want = append(want, m[1])
	}
	for _, fake := range []string{"", "factory", "own"} {
		h := newHouse(t, fake)
		if fake == "own" {
			h.write(".factory/settings.json", `{"customModels": [{"model": "scripted", "displayName": "Scripted", "provider": "generic-chat-completion-api"}]}`)
		}
		got = append(got, neutral(h.report()))
	}
	if *update {
		i := -1
		data = screensForm.ReplaceAllFunc(data, func([]byte) []byte { i++; return []byte("```text\n" + got[i] + "```") })
		require.NoError(t, os.WriteFile(file, data, 0o644))
		return
	}
	require.Equal(t, want, got, "go test ./internal/cli/doctor -run TestScreens -update writes them")
}

// TestEveryCheckIsDocumented: the table of docs/troubleshooting.md has them in their order.
func TestEveryCheckIsDocumented(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "troubleshooting.md"))
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(data), "## What is looked at")
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
