package paths

import (
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShellQuote(t *testing.T) {
	for _, text := range []string{"/usr/bin/npm", "@scope/pkg@1.2", "a=b", "https://x:1/%20"} {
		require.Equal(t, text, ShellQuote(text))
	}
	require.Equal(t, "''", ShellQuote(""))
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	for _, text := range []string{"", "it's", `"$HOME"`, "~/x:~/y", "a b\tc\nd", "$(x)`y`", "*?[a]", "\\", "é", "#", "a;b&c|d", "!x", "{a,b}"} {
		out, err := exec.Command("sh", "-c", "printf %s "+ShellQuote(text)).Output()
		require.NoError(t, err)
		require.Equal(t, text, string(out))
	}
}
