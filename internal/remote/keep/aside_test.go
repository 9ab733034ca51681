//go:build unix

package keep

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A server that steps aside leaves its path to another one at once, and goes on at another path. A second one cannot do so before the first
// has ended.
func TestStepAside(t *testing.T) {
	path := socketPath(t)
	first := newAdminServerAs(listenAt(t, path), -1)
	client := NewClient(path, typed)
	require.False(t, IsAside(path))
	require.NoError(t, client.StepAside(t.Context()))
	require.ErrorIs(t, connectError(t, path), ErrNotRunning)
	require.True(t, IsAside(path))
	require.NoFileExists(t, lockOf(path))

	second := newAdminServerAs(listenAt(t, path), -2)
	of := func(path string) int {
		status, err := NewClient(path, typed).Status(t.Context())
		require.NoError(t, err)
		return status.Process
	}
	require.Equal(t, []int{-2, -1}, []int{of(path), of(AsidePath(path))})
	require.ErrorContains(t, client.StepAside(t.Context()), "the lock of the server before this one cannot be taken")
	require.Error(t, NewClient(AsidePath(path), typed).StepAside(t.Context()))

	inUse, err := NewClient(AsidePath(path), typed).Yield(t.Context(), []string{"x", "abc"})
	require.NoError(t, err)
	require.True(t, inUse)
	inUse, err = NewClient(AsidePath(path), typed).Yield(t.Context(), []string{"x"})
	require.NoError(t, err)
	require.False(t, inUse)

	first.close()
	require.NoFileExists(t, AsidePath(path))
	require.False(t, IsAside(path))
	require.Equal(t, -2, of(path))
	inUse, err = NewClient(AsidePath(path), typed).Yield(t.Context(), []string{"abc"})
	require.NoError(t, err)
	require.False(t, inUse, "it has ended")
	require.NoError(t, client.StepAside(t.Context()))
	second.close()
	require.NoFileExists(t, path)
}
