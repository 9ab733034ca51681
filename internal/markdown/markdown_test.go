package markdown

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a command writes decides neither how its block of code ends nor how long
// it takes to find out: a megabyte of backticks took minutes.
func TestFencedIsLongerThanAnyRun(t *testing.T) {
	require.Equal(t, "```\na\n```", Fenced("", "a\n"))
	require.Equal(t, "`````sh\na```` b ``` c\n`````", Fenced("sh", "a```` b ``` c"))
	run := strings.Repeat("`", 1<<20)
	require.Equal(t, "`"+run+"\n"+run+"\n`"+run, Fenced("", run))
}

func TestCode(t *testing.T) {
	require.Equal(t, "`a b`", Code("a b"))
	require.Equal(t, "`` a`b ``", Code("a`b"))
	require.Equal(t, "``` ``a` ```", Code("``a`"))
	require.Equal(t, "`  `", Code(""))
}
