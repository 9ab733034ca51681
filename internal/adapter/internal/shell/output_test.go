package shell

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOutputIsBounded(t *testing.T) {
	told := 0
	o := NewOutput(func() { told++ })
	for range 300 {
		n, err := o.Write([]byte(strings.Repeat("x", 8191) + "\n"))
		require.NoError(t, err)
		require.Equal(t, 8192, n)
	}
	require.Equal(t, 1, told)
	require.Len(t, o.Take(), Kept)
	rest := o.Rest()
	left := leftOut(300*8192 - Kept - Tail)
	require.True(t, strings.HasPrefix(rest, left))
	require.Len(t, rest, len(left)+Tail)
}

func TestOutputIsToldOnceUntilItIsTaken(t *testing.T) {
	told := 0
	o := NewOutput(func() { told++ })
	for _, p := range []string{"", "a", "b"} {
		_, _ = o.Write([]byte(p))
	}
	require.Equal(t, 1, told)
	require.Equal(t, "ab", o.Take())
	_, _ = o.Write([]byte("c"))
	require.Equal(t, 2, told)
	require.Equal(t, "c", o.Rest())
	require.Empty(t, o.Rest())
}

func TestOutputKeepsCharactersWhole(t *testing.T) {
	o := NewOutput(func() {})
	text, got := "aä€😀z", ""
	for i := range len(text) {
		_, _ = o.Write([]byte{text[i]})
		got += o.Take()
	}
	_, _ = o.Write([]byte("\xff\xe2"))
	require.Equal(t, text+"\uFFFD", got+o.Take())
	require.Equal(t, "\uFFFD", o.Rest())
}

func TestNote(t *testing.T) {
	three := 3
	require.Equal(t, "I ran this command myself, in the session's directory:\n```sh\nmake\n```\nExit code 3. Its output:\n```console\nno rule\n```\n\n",
		Note("make", "no rule\n", End{ExitCode: &three}))
	require.Equal(t, "I ran this command myself, in the session's directory:\n```sh\nmake\n```\nCancelled. It wrote nothing.\n\n",
		Note("make", " \n", End{Note: "Cancelled."}))
	long := Note("seq", "first\n"+strings.Repeat("ä", Told)+"\nlast", End{Note: "Cancelled."})
	require.Contains(t, long, "first\n")
	require.Contains(t, long, "\nlast\n```\n\n")
	require.Contains(t, long, leftOut(Told+len("first\n\nlast")))
	require.NotContains(t, long, "\uFFFD")
	require.Less(t, len(long), Told+1000)
}
