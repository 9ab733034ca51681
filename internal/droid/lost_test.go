package droid

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// A line that is too long is reported: as an event, as an error to a caller that waits for it, and, if droid waits for an answer, as a
// refusal.
func TestTooLongLineIsReported(t *testing.T) {
	c, p := newPeer(t, "1.220.0")
	long := strings.Repeat("x", shortBounds.line)
	size := func(e stream.Event) stream.Event {
		lost, ok := e.(stream.Lost)
		require.True(t, ok, "%T", e)
		require.Greater(t, lost.Size, int64(shortBounds.line))
		lost.Size = 0
		return lost
	}
	p.send(`"type":"notification","method":"droid.session_notification","params":{"sessionId":"s","notification":{"type":"create_message","message":{"id":"m","text":"%s"}}}`, long)
	require.Equal(t, stream.Lost{Type: "create_message"}, size(<-c.Events()))

	p.send(`"type":"request","method":"droid.request_permission","id":"q","params":{"toolUses":"%s"}`, long)
	require.Equal(t, stream.Lost{Type: "request_permission"}, size(<-c.Events()))
	answer := p.next()
	require.Equal(t, "q", answer.ID)
	require.NotNil(t, answer.Error, "a refusal")

	failed := make(chan error)
	go func() {
		_, err := c.Load(context.Background(), LoadParams{SessionID: "s"})
		failed <- err
	}()
	id := p.expect(methodLoad).ID
	p.send(`"type":"response","id":"%s","result":{"session":{"title":"%s"}}`, id, long)
	require.ErrorContains(t, <-failed, "droid's answer of 4.2 MB is too long")
	_, err := c.Initialize(context.Background(), InitializeParams{CWD: "/w"})
	require.ErrorIs(t, err, ErrHasSession, "droid may have loaded it")

	_, err = p.out.Write([]byte(long + long + "\n"))
	require.NoError(t, err)
	require.Equal(t, stream.Lost{}, size(<-c.Events()), "no JSON at all")
	require.EqualValues(t, 4, c.noMessages.Load())
}
