package droid

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// TestCallsWhileClosing: between the beginning of Close and the end of stdin only
// the interrupt goes to droid.
func TestCallsWhileClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := newPeer(t, young)
		sent := async(func() error { return c.AddUserMessage(t.Context(), stream.UserMessage{RequestID: "1"}) })
		p.expect(methodAddUserMessage)
		p.reply("1", `{}`)
		require.NoError(t, <-sent)
		closed := async(func() error { return c.Close(t.Context()) })
		interrupt := p.expect(methodInterrupt)
		late := async(func() error { return c.UpdateSettings(t.Context(), stream.SettingsPatch{}) })
		synctest.Wait()
		require.Len(t, late, 1)
		require.ErrorIs(t, <-late, ErrClosed)
		p.reply(interrupt.ID, `{}`)
		p.notify(`{"type":"droid_working_state_changed","newState":"idle"}`)
		p.out.Close()
		require.NoError(t, <-closed)
	})
}
