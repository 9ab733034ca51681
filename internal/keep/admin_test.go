package keep

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAdmin(t *testing.T) {
	path := socketPath(t)
	client := NewClient(path)
	_, err := client.Status(t.Context())
	require.ErrorIs(t, err, ErrNobody)
	require.ErrorIs(t, client.Stop(t.Context()), ErrNobody)

	p := newPlain(listenAt(t, path))
	status, err := client.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, p.Status(), status)
	require.NoError(t, client.StopSession(t.Context(), "abc"))
	require.EqualError(t, client.StopSession(t.Context(), "a b&c"), "no session a b&c is open here")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-p.stopped
		p.close()
	}()
	require.NoError(t, client.Stop(t.Context()))
	<-ended
	require.Equal(t, []string{"abc"}, p.ended)
	require.ErrorIs(t, client.Stop(t.Context()), ErrNobody)
}
