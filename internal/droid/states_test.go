package droid

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"droid-acp/internal/droid/stream"
)

// TestRefusedPromptLeavesDroidIdle checks that closing droid after a refused prompt does not interrupt a turn, since there is none.
func TestRefusedPromptLeavesDroidIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := newPeer(t, young)
		sent := async(func() error { return c.AddUserMessage(t.Context(), stream.UserMessage{RequestID: "1"}) })
		p.expect(methodAddUserMessage)
		p.refuse(`"1"`, -32603, "no")
		require.Error(t, <-sent)
		begin := time.Now()
		closed := async(func() error { return c.Close(t.Context()) })
		_, err := p.in.ReadByte()
		require.ErrorIs(t, err, io.EOF, "stdin is closed, without an interrupt")
		require.Zero(t, time.Since(begin))
		p.out.Close()
		require.NoError(t, <-closed)
	})
}

// A line without a version does not reset it.
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
	called := async(func() error { return c.Call(t.Context(), "droid.anything", nil, nil) })
	p.reply(p.expect("droid.anything").ID, `{}`)
	require.NoError(t, <-called)
}

// Unknown content is counted, and logged at its first occurrence.
func TestStrange(t *testing.T) {
	core, logged := observer.New(zap.InfoLevel)
	c, p := newPeerOf(t, "1.999.0", func(stdout io.Reader, stdin io.WriteCloser) *Client {
		return newClient(stdout, stdin, nil, nil, zap.New(core), shortBounds)
	})
	for range 3 {
		p.send(`"type":"notification","method":"droid.session_notification","params":{"notification":{"type":"dream_update"}}`)
		<-c.Events()
	}
	p.send(`"type":"notification","method":"droid.session_notification","params":{"notification":{"type":"tool_result","hurry":1}}`)
	<-c.Events()
	p.send(`"type":"notification","method":"droid.session_notification","params":{"notification":{"type":"%s"}}`, strings.Repeat("d", 100_000))
	<-c.Events()
	long := "event " + strings.Repeat("d", maxUnknownName-len("event ")) + "…"
	require.Equal(t, map[string]int{"event dream_update": 3, "field hurry of tool_result": 1, long: 1}, c.UnknownFields())
	require.Len(t, logged.FilterMessageSnippet("no table").All(), 3)
	require.Len(t, logged.FilterMessageSnippet("this droid is newer than droid").All(), 1)
	for n := range 2 * maxUnknownFields {
		p.send(`"type":"notification","method":"droid.session_notification","params":{"notification":{"type":"dream_%d"}}`, n)
		<-c.Events()
	}
	require.Len(t, c.UnknownFields(), maxUnknownFields+1, "bounded")
	require.Equal(t, maxUnknownFields+3, c.UnknownFields()["more of that"])
}
