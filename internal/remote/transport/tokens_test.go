package transport

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/remote/serve"
)

// A token that is no longer there, or has another name or role, admits nobody, and what is connected by it ends: nothing that it sends from
// then on is handled. The others stay.
func TestRevokedToken(t *testing.T) {
	anna, screen := someTokens[0], someTokens[1]
	for name, after := range map[string][]Token{
		"gone": {screen}, "of another role": {screen, {anna.Name, anna.Secret, serve.Watch}}, "of another name": {{"maria", anna.Secret, anna.Role}, screen}, "of another secret": {{anna.Name, "new", anna.Role}, screen},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, func(o *Options) { o.Tokens = someTokens })
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			revoked, err := Dial(ctx, s.dial, "ws://localhost/acp", anna.Secret)
			require.NoError(t, err)
			receiver := wait(t, s.joined)
			require.Equal(t, [2]any{"anna", serve.Full}, [2]any{receiver.options.Token, receiver.options.Role})
			stays, err := Dial(ctx, s.dial, "ws://localhost/acp", screen.Secret)
			require.NoError(t, err)
			watching := wait(t, s.joined)
			require.Equal(t, serve.Watch, watching.options.Role)

			s.h.SetTokens(after)
			_ = revoked.Write(ctx, []byte(prompt)) // before it has read that it is revoked
			_, err = revoked.Read(ctx)
			require.ErrorContains(t, err, "the token was revoked or changed")
			wait(t, receiver.gone)
			require.Empty(t, receiver.got)
			require.NoError(t, stays.Write(ctx, []byte(initialize)))
			_, err = stays.Read(ctx)
			require.NoError(t, err)

			_, err = Dial(ctx, s.dial, "ws://localhost/acp", anna.Secret)
			if name == "gone" || name == "of another secret" {
				require.ErrorContains(t, err, "401 Unauthorized: The token is missing or wrong")
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// A request that was admitted while its token was being revoked is refused.
func TestTokenRevokedDuringAdmission(t *testing.T) {
	h := New(Options{Tokens: someTokens})
	h.SetTokens(someTokens[1:])
	f := h.enter(&socket{h: h, admission: admission{token: someTokens[0]}})
	require.NotNil(t, f)
	require.Equal(t, http.StatusUnauthorized, f.status)
	s := &socket{h: h, admission: admission{token: someTokens[1]}}
	require.Nil(t, h.enter(s))
	h.leave(s)
}
