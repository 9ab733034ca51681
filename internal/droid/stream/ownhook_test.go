package stream

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsOwnHook(t *testing.T) {
	for command, own := range map[string]bool{
		"/proc/12/exe droid-acp-files-hook @droid-acp-00 2>/dev/null || :":          true,
		"'/opt/my tools/droid-acp' droid-acp-files-hook '/tmp/x/s' 2>/dev/null|| :": true,
		"droid-acp-files-hook":                  false,
		"/usr/bin/droid-acp-files-hook @droid":  false,
		"echo droid-acp-files-hooks are silent": false,
		"/proc/12/exe  DROID-ACP-FILES-HOOK @a": false,
		"":                                      false,
	} {
		require.Equal(t, own, IsOwnHook(command), command)
	}
}
