package droid

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// TestRefusedPromptLeavesDroidIdle: there is no turn to interrupt before it is
// closed.
func TestRefusedPromptLeavesDroidIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := newPeer(t, young)
		sent := beside(func() error { return c.AddUserMessage(t.Context(), stream.UserMessage{RequestID: "1"}) })
		p.expect(methodAddUserMessage)
		p.refuse(`"1"`, -32603, "no")
		require.Error(t, <-sent)
		begin := time.Now()
		closed := beside(func() error { return c.Close(t.Context()) })
		_, err := p.in.ReadByte()
		require.ErrorIs(t, err, io.EOF, "stdin is closed, without an interrupt")
		require.Zero(t, time.Since(begin))
		p.out.Close()
		require.NoError(t, <-closed)
	})
}

// TestVersionStays: a line that tells none takes nothing back.
func TestVersionStays(t *testing.T) {
	c, p := newPeer(t, young)
	learn(c, p)
	version := c.Version()
	require.False(t, version.IsZero())
	p.version = ""
	learn(c, p)
	require.Equal(t, version, c.Version())
}

// TestUnknownNotificationIsNotAnswered: only requests are.
func TestUnknownNotificationIsNotAnswered(t *testing.T) {
	c, p := newPeer(t, young)
	learn(c, p)
	p.send(`"type":"notification","method":"droid.something_new","params":{}`)
	require.IsType(t, stream.Unknown{}, <-c.Events())
	called := beside(func() error { return c.Call(t.Context(), "droid.anything", nil, nil) })
	p.reply(p.expect("droid.anything").ID, `{}`)
	require.NoError(t, <-called)
}
