package mutate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadAccepted(t *testing.T) {
	const first = "internal/a/b.go T.M drop\n- x = 1\n+ \nNobody reads x.\n"
	const second = "internal/a/b.go F boundary\n- if a < b {\n+ if a <= b {\nThe same,\nas before.\n"
	all, err := ReadAccepted(strings.NewReader("# A comment.\n\n" + first + "\n\n" + second))
	require.NoError(t, err)
	require.Equal(t, []Accepted{
		{Key{"internal/a", "b.go", "T.M", Drop, "x = 1", ""}, "Nobody reads x."},
		{Key{"internal/a", "b.go", "F", Boundary, "if a < b {", "if a <= b {"}, "The same, as before."},
	}, all)
	require.Equal(t, first, all[0].String())
}

func TestReadAccepted_Wrong(t *testing.T) {
	for entry, want := range map[string]string{
		"a/b.go drop\n- x\n+ y\nwhy":    "does not begin with",
		"a/b.go F blend\n- x\n+ y\nwhy": "does not begin with",
		"b.go F drop\n- x\n+ y\nwhy":    "names no file with its folder",
		"a/b.go F drop\n- x\nwhy":       `lacks a line`,
		"a/b.go F drop\n- x":            `lacks a line`,
		"a/b.go F drop\n- x\n+ y":       "gives no reason",
	} {
		_, err := ReadAccepted(strings.NewReader(entry + "\n\na/b.go F drop\n- x\n+ y\nwhy\n"))
		require.ErrorContains(t, err, want, entry)
	}
}
