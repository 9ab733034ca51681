package owner

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMailbox: what is posted is done once and in order, or the poster learns
// that it will not be.
func TestMailbox(t *testing.T) {
	m := newMailbox()
	var did []string
	post := func(what string) bool { return m.post(func() { did = append(did, what) }) }
	work := func(mail []func()) {
		for _, f := range mail {
			f()
		}
	}
	require.True(t, post("a"))
	require.True(t, post("b"))
	require.Len(t, m.wake, 1, "one token for all")
	work(m.take())
	require.Empty(t, m.take())
	require.True(t, post("c"))
	work(m.close())
	require.False(t, post("d"))
	require.Empty(t, m.take())
	require.Equal(t, []string{"a", "b", "c"}, did)
}
