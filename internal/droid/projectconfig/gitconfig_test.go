package projectconfig

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asGitPrints are settings as "git config --list -z" prints them, with each run of white space as one space: git before
// 2.45 made spaces of tabs.
func asGitPrints(all []gitSetting) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s=%s\x00", s.key, strings.Join(strings.Fields(s.value), " "))
	}
	return b.String()
}

// listed returns what git itself reads from a file; ok is false if it reports a syntax error.
func listed(t *testing.T, path string) (text string, ok bool) {
	t.Helper()
	cmd := exec.Command("git", "config", "--list", "-z", "--includes", "-f", path)
	cmd.Env = append(os.Environ(), "HOME=/home/me")
	out, err := cmd.Output()
	if err != nil {
		return "", false
	}
	var b strings.Builder
	for _, entry := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		if key != "" {
			fmt.Fprintf(&b, "%s=%s\x00", key, strings.Join(strings.Fields(value), " "))
		}
	}
	return b.String(), true
}

// A configuration is read as git reads it, and what git finds broken is an error.
func TestGitConfigIsReadAsGitReadsIt(t *testing.T) {
	const pieces = `[|]|"|\|=|#|;| |  |` + "\t" + `|.|-|x|Y|9|é|core|[core]|[filter "x"]|[a "b\"c]"]|[A.B]|[a.B "C"]|["x"]|[a"b"]|[a  "b"]|[a "b" ]|clean|clean = |= "a # b" ; c|\t|\n|\q|\` + "\n" + `|\` + "\r\n" +
		"|\n|\n\n|\r\n|\r|\ufeff|\v|x=y\n|x\n|x y\n|_"
	words := strings.Split(pieces, "|")
	path := filepath.Join(t.TempDir(), "config")
	read, broken := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		text := ""
		if seed%3 > 0 {
			text = "[s]\n"
		}
		for range r.IntN(12) {
			text += words[r.IntN(len(words))]
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		want, ok := listed(t, path)
		got, err := parseGitConfig([]byte(text))
		require.Equal(t, ok, err == nil, "%q: %v", text, err)
		if ok {
			require.Equal(t, want, asGitPrints(got), "%q", text)
			read++
		} else {
			broken++
		}
	}
	require.Greater(t, read, 40)
	require.Greater(t, broken, 40)
}
