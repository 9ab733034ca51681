package stream

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValid(t *testing.T) {
	for _, id := range []string{
		"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "a", "nope", "my_session.2", "a..b", "A.settings.json", "con-1", "COMA", strings.Repeat("a", MaxSessionID),
	} {
		require.True(t, ValidSessionID(id), id)
	}
	for _, id := range []string{
		"", ".", "..", "../a", "a/../b", "/etc/passwd", "a/b", `a\b`, `..\a`, "a\x00b", "a\nb", "a\x1b[2Jb", "a ", " a", "~", "-rf", "_a", ".a", "a.",
		"C:", "C:a", `C:\a`, "a:b", "a::$DATA", `\\host\share`, "con", "NUL.txt", "com1", "LPT9.x", "a%2fb", "ä", "a*", "a\xff", strings.Repeat("a", MaxSessionID+1),
	} {
		require.False(t, ValidSessionID(id), "%q", id)
	}
}
