package store

import (
	"encoding/base64"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

func TestCursor(t *testing.T) {
	for _, updated := range []time.Time{sometime, time.Unix(0, 0), time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64), time.Unix(0, 1)} {
		for _, id := range []string{uuidLike(1), "a", "a.b_c", strings.Repeat("x", stream.MaxSessionID)} {
			c := cursor{true, updated, id}
			got, err := parseCursor(c.String())
			require.NoError(t, err)
			require.True(t, got.set)
			require.True(t, updated.Equal(got.updated))
			require.Equal(t, id, got.id)
		}
	}
	c := cursor{true, sometime, "m"}
	require.False(t, c.before(sometime, "m"))
	require.True(t, c.before(sometime, "n"))
	require.False(t, c.before(sometime, "l"))
	require.True(t, c.before(sometime.Add(-1), "a"))
	require.False(t, c.before(sometime.Add(1), "z"))
	require.True(t, cursor{}.before(sometime, "a"))
}

func TestBadCursor(t *testing.T) {
	s := newStore(t)
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for _, bad := range []string{"x", "!", "0", encode("1:2"), encode("2:2:a"), encode("1:x:a"), encode("1:2:"), encode("1:2:../a"),
		encode("1:+2:a"), encode("1:99999999999999999999:a"), encode("1:2:a") + "=", encode("1:2:a") + "\n", encode("1:2:a") + "A",
		strings.Repeat("A", 1<<20)} {
		_, err := s.List(t.Context(), Query{Cursor: bad})
		var wrong *BadCursorError
		require.ErrorAs(t, err, &wrong, "%.40q", bad)
		require.Equal(t, bad, wrong.Cursor)
		require.Less(t, len(err.Error()), 500)
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add(cursor{true, sometime, uuidLike(1)}.String())
	f.Add("MTotMTph")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCursor(text)
		if err != nil {
			var wrong *BadCursorError
			require.True(t, errors.As(err, &wrong))
			return
		}
		if !c.set {
			require.Empty(t, text)
			return
		}
		require.True(t, stream.ValidSessionID(c.id))
		require.Equal(t, text, c.String(), "one form only")
	})
}
