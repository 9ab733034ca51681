package session_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/mcp"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

func loginAt(url string) stream.MCPAuthRequired {
	return stream.MCPAuthRequired{ServerName: "safe", AuthURL: url, Message: "Please."}
}

// askedFor is the elicitation that came last.
func (e *editor) askedFor(t *testing.T) (id string, p protocol.URLElicitation) {
	t.Helper()
	for _, m := range e.received() {
		if m.Method == "elicitation/create" {
			id = string(m.ID)
			require.NoError(t, json.Unmarshal(m.Params, &p))
		}
	}
	return id, p
}

func (e *editor) count(method string) (n int) {
	for _, m := range e.received() {
		if m.Method == method {
			n++
		}
	}
	return n
}

func (e *editor) auth(ev stream.Event) {
	e.inside(func(s *session.Session) { s.ApplyEvent(quirks.Other{Event: ev}) })
}

// If an editor cannot open addresses although it said so, the user gets the link.
func TestLoginThatTheEditorDoesNotShow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := beginAs(t, canOpen, playing(says("hi")))
		e.auth(loginAt("https://example.com/login"))
		id, _ := e.askedFor(t)
		e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, id))
		require.Equal(t, "end_turn", e.run("go"))
		require.Contains(t, e.told(), "The MCP server safe needs you to log in: https://example.com/login\nPlease.")
	})
}

// The dialog is withdrawn with a newer address, and with the process or the session to which it belongs.
func TestLoginIsWithdrawn(t *testing.T) {
	for name, end := range map[string]func(e *editor){
		"by a newer one": func(e *editor) { e.auth(loginAt("https://example.com/newer")) },
		"with the session": func(e *editor) {
			e.call("session/close", fmt.Sprintf(`{"sessionId":%q}`, e.session))
		},
		"with the process": func(e *editor) { e.inside(func(s *session.Session) { s.Process().Client().Kill() }) },
		"at its end":       func(e *editor) { e.auth(stream.MCPAuthCompleted{ServerName: "safe", Outcome: "success"}) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				e := beginAs(t, canOpen, playing(says("hi")))
				e.auth(loginAt("https://example.com/login"))
				_, p := e.askedFor(t)
				require.Equal(t, "end_turn", e.run("go on meanwhile"))
				end(e)
				require.Equal(t, 1, e.count("$/cancel_request"))
				if name == "by a newer one" {
					_, newer := e.askedFor(t)
					require.NotEqual(t, p.ElicitationID, newer.ElicitationID)
				}
			})
		})
	}
}

// A session that rests while the user logs in is not parked: the login ends at
// its process.
func TestLoginKeepsTheProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := beginAs(t, canOpen, playing(says("hi")))
		e.settle()
		e.agent.Config.ParkAfter = time.Minute
		require.Equal(t, "end_turn", e.run("go"))
		e.auth(loginAt("https://example.com/login"))
		time.Sleep(mcp.LoginTime - time.Second)
		require.False(t, e.parked())
		time.Sleep(time.Second + session.ParkRetry)
		require.True(t, e.parked())
	})
}

// One that begins while the session opens is shown once the editor knows it.
func TestLoginBeforeTheEditorKnowsTheSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := beginAs(t, canOpen, playing(says("hi")))
		e.settle()
		e.inside(func(s *session.Session) { s.HideFromEditor() })
		e.auth(loginAt("https://example.com/login"))
		require.Zero(t, e.count("elicitation/create"))
		e.inside(func(s *session.Session) { s.Updates().Release() })
		require.Equal(t, 1, e.count("elicitation/create"))
	})
}
