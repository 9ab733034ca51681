package transport

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"droid-acp/internal/remote/serve"
)

// ticket asks for a ticket.
func (s *testService) ticket(query, token string) (secret string, got httpAnswer) {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodPost, s.url+"/ticket"+query, nil)
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := s.client.Do(r)
	require.NoError(s.t, err)
	defer response.Body.Close()
	got = httpAnswer{status: response.StatusCode, header: response.Header}
	var answer struct{ Ticket string }
	_ = json.NewDecoder(response.Body).Decode(&answer) // an error is a text
	return answer.Ticket, got
}

// page connects as a page does, which cannot set headers.
func (s *testService) page(secret string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, s.url, &websocket.DialOptions{HTTPClient: s.client, Subprotocols: []string{"acp", "bearer." + secret}})
	return conn, err
}

// A ticket admits one WebSocket, with the role that was asked for and in the name of its token. The second one is refused and logged.
func TestTicket(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	s := start(t, func(o *Options) { o.Tokens, o.Log = someTokens, zap.New(core) })
	for _, row := range []struct{ query, role string }{{"", "full"}, {"?role=watch", "watch"}, {"?role=answer,prompt", "answer,prompt"}} {
		secret, got := s.ticket(row.query, "secret")
		require.Equal(t, http.StatusOK, got.status)
		require.Equal(t, "no-store", got.header.Get("Cache-Control"))
		conn, err := s.page(secret)
		require.NoError(t, err)
		receiver := wait(t, s.joined)
		require.Equal(t, [2]string{"anna", row.role}, [2]string{receiver.options.Token, receiver.options.Role.String()})
		_, err = s.page(secret)
		require.ErrorContains(t, err, "401")
		refused := logs.TakeAll()
		require.Len(t, refused, 1)
		fields := refused[0].ContextMap()
		require.Equal(t, [3]any{"The ticket was used before", "anna", row.role}, [3]any{fields["reason"], fields["token"], fields["role"]})
		require.NoError(t, conn.CloseNow())
	}
	for query, status := range map[string]int{"?role=full": http.StatusForbidden, "?role=prompt": http.StatusForbidden, "?role=root": http.StatusBadRequest} {
		_, got := s.ticket(query, "other")
		require.Equal(t, status, got.status, query)
	}
	_, got := s.ticket("", "none")
	require.Equal(t, http.StatusUnauthorized, got.status)
	secret, _ := s.ticket("", "secret")
	_, got = s.ticket("", secret)
	require.Equal(t, http.StatusUnauthorized, got.status, "a ticket gives no other")
	require.Equal(t, http.StatusUnauthorized, s.request("GET", "", "Authorization: Bearer "+secret).status, "and is for a WebSocket")
	for range maxTickets {
		_, got = s.ticket("", "secret")
	}
	require.Equal(t, http.StatusTooManyRequests, got.status)
}

// A ticket is revoked with its token, and so is the connection that it has admitted.
func TestTicketIsRevokedWithItsToken(t *testing.T) {
	s := start(t, func(o *Options) { o.Tokens = someTokens })
	used, _ := s.ticket("?role=watch", "secret")
	unused, _ := s.ticket("?role=watch", "secret")
	conn, err := s.page(used)
	require.NoError(t, err)
	receiver := wait(t, s.joined)
	s.h.SetTokens([]Token{{"anna", "new", serve.Full}, someTokens[1]})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, _, err = conn.Read(ctx)
	require.ErrorContains(t, err, "the token was revoked or changed")
	wait(t, receiver.gone)
	_, err = s.page(unused)
	require.ErrorContains(t, err, "401")
}

// A ticket holds for a minute.
func TestTicketExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{Tokens: someTokens})
		a := admission{someTokens[0], serve.Watch}
		require.True(t, h.addTicket("one", accessTicket{admission: a, expires: time.Now().Add(ticketTime)}))
		require.True(t, h.addTicket("two", accessTicket{admission: a, expires: time.Now().Add(ticketTime)}))
		time.Sleep(ticketTime)
		got, f := h.useTicket("one")
		require.Nil(t, f)
		require.Equal(t, a, got)
		time.Sleep(time.Nanosecond)
		_, f = h.useTicket("two")
		require.True(t, strings.HasPrefix(f.text, "The ticket has expired"))
		require.True(t, h.addTicket("three", accessTicket{admission: a, expires: time.Now().Add(ticketTime)}))
		require.Len(t, h.tickets, 1)
	})
}
