package quirks

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHeard: whether the text is kept or hashed, a snapshot is compared with it
// alike.
func TestHeard(t *testing.T) {
	pieces := []string{"one ", "two ", "", "three"}
	for kept := range len(pieces) + 1 {
		var h heard
		for i, p := range pieces {
			h.add(p, i < kept)
		}
		require.Equal(t, len("one two three"), h.len())
		rest, ok := h.begins("one two three four")
		require.True(t, ok)
		require.Equal(t, " four", rest)
		for _, other := range []string{"one two threX four", "one two", ""} {
			_, ok := h.begins(other)
			require.False(t, ok, other)
		}
		require.False(t, h.endsIn("four"))
		require.Equal(t, kept == len(pieces), h.endsIn("three"), "of a hash the end is not known")
		require.LessOrEqual(t, h.text.Len(), len("one two three"))
		if kept < len(pieces) {
			require.Zero(t, h.text.Len(), "nothing is kept twice")
		}
	}
}
