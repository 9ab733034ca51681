package process

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
)

// A file is due again and again while its subagent works, and for a while where calls have no end.
func TestSubagents(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	var f Subagents
	_, some := f.Due()
	require.False(t, some)
	require.Empty(t, f.Next(now))
	f.Begin(now, "b")
	f.Begin(now, "a")
	require.Empty(t, f.Next(now))
	at, some := f.Due()
	require.True(t, some)
	require.Equal(t, now.Add(followEvery), at)
	require.Equal(t, []string{"a", "b"}, f.Next(at))
	require.Empty(t, f.Next(at))

	require.False(t, f.Stopped(at, "a", false))
	require.Equal(t, []string{"b"}, f.Next(at.Add(followEvery)))
	require.False(t, f.Stopped(at, "b", true))
	require.False(t, f.Stopped(at.Add(followPatience-1), "b", true))
	require.True(t, f.Stopped(at.Add(followPatience), "b", true))
	_, some = f.Due()
	require.False(t, some)
	require.True(t, f.Stopped(at, "unknown", true))
	require.Equal(t, []string{"a", "b"}, f.IDs())

	f.Begin(at, "b") // it works again
	require.False(t, f.Stopped(at.Add(followPatience), "b", true))
}

// What was read is kept until it is taken, and not read twice.
func TestSubagentsLines(t *testing.T) {
	var f Subagents
	begin, lines := store.Offset{}, []stream.ChildLine{{Type: "one"}}
	require.False(t, f.Read("a", begin, begin, lines))
	f.Begin(time.Unix(1_000_000, 0), "a")
	require.True(t, f.Read("a", begin, begin, lines))
	require.True(t, f.Read("a", f.Offset("a"), begin, lines))
	require.Len(t, f.Take("a"), 2)
	require.Empty(t, f.Take("a"))
	f.Read("a", begin, begin, lines)
	f.Restart("a")
	require.Empty(t, f.Take("a"))
}
