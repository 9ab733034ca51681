package markdown

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCode(t *testing.T) {
	require.Equal(t, "`a b`", Code("a b"))
	require.Equal(t, "`` a`b ``", Code("a`b"))
	require.Equal(t, "``` ``a` ```", Code("``a`"))
	require.Equal(t, "`  `", Code(""))
}
