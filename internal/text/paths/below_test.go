package paths

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBelow(t *testing.T) {
	for path, want := range map[string]bool{"/w": true, "/w/a": true, "/w/..a": true, "/": false, "/w2": false, "/x": false} {
		require.Equal(t, want, Below("/w", path), path)
	}
}
