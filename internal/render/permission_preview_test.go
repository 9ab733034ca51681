package render

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
)

func TestSignedLines(t *testing.T) {
	for _, tc := range []struct{ before, after, want string }{
		{"a\nb\nc\n", "a\nB\nc\n", " a\n-b\n+B\n c\n"},
		{"", "new\nfile", "+new\n+file\n"},
		{"gone\n", "", "-gone\n"},
		{"a\na\n", "a\n", "-a\n a\n"},
		{"a", "a\n", "-a\n+a\n"},
		{"a\n", "a\n", " a\n"},
	} {
		require.Equal(t, tc.want, signedLines(tc.before, tc.after), tc)
	}
}

func TestDiffAsText(t *testing.T) {
	require.Equal(t, "**a/b.go**\n\n```diff\n one\n-two\n+2\n```",
		diffText("/w", protocol.DiffContent("/w/a/b.go", textOf("one\ntwo"), textOf("one\n2"))))
	require.Equal(t, "**a**\n\n```diff\n 2\n 3\n 4\n+5\n```",
		diffText("/w", protocol.DiffContent("/w/a", textOf("1\n2\n3\n4\n"), textOf("1\n2\n3\n4\n5\n"))), "three lines around")
	require.Equal(t, "**`a/[x](https:/evil/y).go`**\n\n```diff\n+x\n```",
		diffText("/w", protocol.DiffContent("/w/a/[x](https:/evil/y).go", nil, textOf("x"))), "no link")
	require.Contains(t, diffText("/w", protocol.DiffContent("/w/a\u00a0b", nil, textOf("\u00a0x"))), "**`a\\u00a0b`**\n\n```diff\n+\u00a0x\n", "that is what will be written")
	same := strings.Repeat("same line\n", 3000)
	require.Equal(t, "**a**\n\n```diff\n-a\n+b\n same line\n same line\n same line\n…\n same line\n same line\n same line\n-end\n+evil\n```",
		diffText("/w", protocol.DiffContent("/w/a", textOf("a\n"+same+"end\n"), textOf("b\n"+same+"evil\n"))), "far behind")
	require.Equal(t, "**a**\n\n```diff\n-a\n+b\n"+strings.Repeat("+same line\n", (maxBeginning-len("-a\n+b\n"))/len("+same line\n"))+"…\n```\n\n1512 more lines of this diff are not shown.",
		diffText("/w", protocol.DiffContent("/w/a", textOf("a\n"), textOf("b\n"+same))), "too long")
	require.Contains(t, diffText("/w", protocol.DiffContent("/w/a", nil, textOf(strings.Repeat("x", maxBeginning)))), "x…\n```\n\n1 more lines of this diff are not shown.", "one line")
}
