package quirks

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What was said is the text that was added, wherever its pieces end.
func TestSentText(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var s sentText
		text := ""
		for range random.IntN(40) {
			piece := strings.Repeat(string(rune('a'+random.IntN(26))), []int{0, 1, 7, 300, uncopiedSize, sentPieceSize}[random.IntN(6)]+random.IntN(3))
			s.add(piece)
			text += piece
			if random.IntN(4) == 0 {
				require.True(t, s.has(0, text))
			}
		}
		require.Equal(t, len(text), s.size)
		for range 20 {
			from := random.IntN(len(text) + 1)
			to := from + random.IntN(len(text)-from+1)
			require.True(t, s.has(from, text[from:to]))
			require.False(t, s.has(from, text[from:to]+"!"))
			require.Equal(t, strings.HasPrefix(text[from:], "az"), s.has(from, "az"))
			at := from
			s.each(from, to-from, func(piece string) {
				require.True(t, strings.HasPrefix(text[at:], piece))
				at += len(piece)
			})
			require.Equal(t, to, at)
		}
		require.False(t, s.has(-1, ""))
	}
}

// A long text becomes a piece as it is, and short ones make pieces of one size.
func TestSentTextPieces(t *testing.T) {
	var s sentText
	s.add("a")
	s.add(strings.Repeat("x", uncopiedSize))
	require.Len(t, s.pieces, 2)
	s = sentText{}
	s.add(strings.Repeat("x", uncopiedSize))
	require.Len(t, s.pieces, 1)
	s = sentText{}
	for range sentPieceSize / 1024 {
		s.add(strings.Repeat("x", 1024))
	}
	require.Empty(t, s.pieces)
	s.add("x")
	require.Equal(t, []string{strings.Repeat("x", sentPieceSize)}, s.pieces)
}
