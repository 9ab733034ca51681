package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter"
	"droid-acp/internal/adapter/accounts"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/login"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/testing/fakelogin"
)

// loginEditor is an editor with these capabilities whose agent logs in by the script.
func loginEditor(t *testing.T, capabilities string, script fakelogin.Script, start starter) *editor {
	t.Helper()
	e := open(t, start, func(c *adapter.Config) { c.Login = fakelogin.Start(script) })
	require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`,`+asZed+`}`).Error)
	return e
}

// canOpen are the capabilities of a client with URL elicitation.
const canOpen = `{"elicitation":{"url":{}}}`

// pair asks for a login by pairing.
func (e *editor) pair() (id string) {
	return e.request("authenticate", `{"methodId":"device-pairing"}`)
}

// shown is the elicitation that came last, by the id of the agent's request.
func (e *editor) shownLogin(t *testing.T) (id string, p protocol.LoginElicitation) {
	t.Helper()
	for _, m := range e.received() {
		if m.Method == "elicitation/create" {
			id = string(m.ID)
			require.NoError(t, json.Unmarshal(m.Params, &p))
		}
	}
	require.NotEmpty(t, id)
	return id, p
}

func (e *editor) chooses(id, action string) {
	e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":%q}}`, id, action))
}

// statuses are the kinds that were pushed.
func (e *editor) statuses() (kinds []string) {
	for _, m := range e.received() {
		if m.Method == protocol.AuthStatusUpdate {
			var p protocol.AuthStatusParams
			_ = json.Unmarshal(m.Params, &p)
			kinds = append(kinds, p.AuthStatus.Kind)
		}
	}
	return kinds
}

// afterOpening is a login that succeeds when the page was opened and proceed is closed.
func afterOpening(proceed <-chan struct{}) fakelogin.Script {
	return func(c *fakelogin.Conversation) {
		c.Open(fakelogin.Address)
		select {
		case <-proceed:
			c.Succeed()
		case <-c.Ended():
		}
	}
}

// The methods are those that the client supports, and always two of the agent's, which need no droid.
func TestAuthMethods(t *testing.T) {
	for capabilities, want := range map[string]string{
		`{}`:                               `device-pairing factory-api-key`,
		`{"auth":{}}`:                      `device-pairing factory-api-key`,
		`{"auth":{"terminal":1}}`:          `device-pairing factory-api-key`,
		`{"_meta":{"terminal-auth":true}}`: `device-pairing:meta factory-api-key`,
		`{"auth":{"terminal":true}}`:       `device-pairing factory-api-key droid-acp-login:terminal`,
		`{"auth":{"terminal":true},"_meta":{"terminal-auth":true}}`: `device-pairing:meta factory-api-key`, // both would run the same command
	} {
		bubble(t, func(t *testing.T) {
			e := open(t, func(int) (*droid.Client, error) { return nil, &droid.NotFoundError{} }, func(c *adapter.Config) {
				c.LoginCommand = accounts.Command{Path: "/opt/droid-acp", Args: []string{"login", "--droid", "/d"}}
			})
			answer := e.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`}`)
			var r struct {
				AuthMethods       []protocol.AuthMethod
				AgentCapabilities struct{ Auth, Meta json.RawMessage }
			}
			require.NoError(t, json.Unmarshal(answer.Result, &r))
			var got []string
			for _, m := range r.AuthMethods {
				name := m.ID
				require.NotEmpty(t, m.Name)
				require.NotEmpty(t, m.Description)
				if m.Meta != nil {
					name += ":meta"
					require.Equal(t, map[string]any{"label": "Log in to Factory", "command": "/opt/droid-acp", "args": []any{"login", "--droid", "/d"}, "env": map[string]any{}}, m.Meta["terminal-auth"])
				}
				if m.Type != "" {
					name += ":" + m.Type
					require.Equal(t, []string{"login"}, m.Args)
				}
				got = append(got, name)
			}
			require.Equal(t, want, strings.Join(got, " "), capabilities)
			require.Contains(t, string(answer.Result), `"_meta":{"authStatus":{}}`)
			require.JSONEq(t, `{"logout":{},"status":{}}`, string(r.AgentCapabilities.Auth))
		})
	}
}

// The answer to a login is droid's answer: a refusal keeps its code and text, and adds a remedy.
func TestLoginEnds(t *testing.T) {
	for script, tc := range map[string]struct {
		code int
		says []string
	}{
		"refused": {-32603, []string{"Device authentication failed: Authorization failed or expired.", "/login"}},
		"dies":    {-32603, []string{"exit status 3", "the last words"}},
		"silent":  {-32603, []string{"The login was not finished", "15 minutes"}},
	} {
		t.Run(script, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				e := loginEditor(t, `{}`, fakelogin.Scripts()[script], playing(says("hi")))
				id := e.pair()
				time.Sleep(login.Time + time.Minute) // of the bubble
				answer := e.await(id)
				require.NotNil(t, answer.Error)
				require.Equal(t, tc.code, answer.Error.Code)
				for _, text := range tc.says {
					require.Contains(t, answer.Error.Message, text)
				}
				require.Empty(t, e.statuses(), "nothing was seen")
			})
		})
	}
	bubble(t, func(t *testing.T) { // it declines
		e := loginEditor(t, canOpen, fakelogin.Scripts()["pending"], playing(says("hi")))
		id := e.pair()
		dialog, _ := e.shownLogin(t)
		e.chooses(dialog, "decline")
		require.Contains(t, e.await(id).Error.Message, "The address to log in at was declined.")
	})
	for answer, inWords := range map[string]bool{`"result":{"action":"cancel"}`: false, `"error":{"code":-32601,"message":"no"}`: true} {
		bubble(t, func(t *testing.T) { // it closes the question, or cannot ask
			proceed := make(chan struct{})
			e := loginEditor(t, canOpen, afterOpening(proceed), playing(says("hi")))
			e.beginSession()
			id := e.pair()
			dialog, _ := e.shownLogin(t)
			e.send(`{"jsonrpc":"2.0","id":` + dialog + `,` + answer + `}`)
			require.Equal(t, inWords, strings.Contains(e.told(), fakelogin.Address))
			close(proceed)
			require.Nil(t, e.await(id).Error)
		})
	}
}

// The method of earlier versions still logs in; the terminal's is not for authenticate.
func TestLoginMethods(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := loginEditor(t, `{}`, func(c *fakelogin.Conversation) { c.Fail(-32000, "by "+c.Method, "why") }, playing(says("hi")))
		for method, want := range map[string]string{"factory-login": "by device-pairing: why", "factory-api-key": "by factory-api-key: why", "device-pairing": "by device-pairing"} {
			answer := e.call("authenticate", `{"methodId":"`+method+`"}`)
			require.Equal(t, -32000, answer.Error.Code)
			require.Contains(t, answer.Error.Message, want)
		}
		answer := e.call("authenticate", `{"methodId":"droid-acp-login"}`)
		require.Equal(t, -32602, answer.Error.Code)
		e = open(t, playing(says("hi")), func(c *adapter.Config) {
			c.Login = func() (*login.Process, error) { return nil, &droid.NotFoundError{} }
		})
		require.Nil(t, e.call("initialize", `{"protocolVersion":1}`).Error)
		require.Contains(t, e.await(e.pair()).Error.Message, "droid not found")
	})
}

// A second request gets an error that names the first login. A login that is ending does not block the next one.
func TestOneLoginAtATime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		proceed, runs := make(chan struct{}), atomic.Int32{}
		e := loginEditor(t, canOpen, func(c *fakelogin.Conversation) { runs.Add(1); afterOpening(proceed)(c) }, playing(says("hi")))
		first, second := e.pair(), e.pair()
		refused := e.await(second).Error
		require.Equal(t, -32600, refused.Code)
		require.Contains(t, refused.Message, "already")
		require.Contains(t, e.call("authenticate", `{"methodId":"factory-api-key"}`).Error.Message, "confirm the code at "+fakelogin.Address)
		require.Equal(t, 1, e.count("elicitation/create"))
		e.notify("$/cancel_request", fmt.Sprintf(`{"requestId":%s}`, first))
		third := e.pair()
		require.Equal(t, -32800, e.await(first).Error.Code)
		require.Equal(t, 1, e.count("$/cancel_request"), "its question is taken back")
		close(proceed)
		require.Nil(t, e.await(third).Error)
		require.Equal(t, []string{"account"}, e.statuses())
		require.Equal(t, int32(2), runs.Load())
	})
}

// The editor answers droid's questions; unknown messages are passed on unchanged, and shown as text.
func TestLoginRelaysWhatDroidSays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := loginEditor(t, canOpen, fakelogin.Scripts()["asks"], playing(says("hi")))
		id := e.pair()
		dialog, p := e.shownLogin(t)
		require.Equal(t, id, string(p.RequestID), "not droid's own")
		require.EqualValues(t, "Log in with the code ABCD-EFGH.", p.Message)
		e.chooses(dialog, "accept")
		require.Nil(t, e.await(id).Error)
		require.Equal(t, 1, e.count("elicitation/complete"))
	})
	bubble(t, func(t *testing.T) { // a client that cannot show it gets it in words
		e := loginEditor(t, `{}`, fakelogin.Scripts()["asks"], playing(says("hi")))
		e.beginSession()
		require.Nil(t, e.await(e.pair()).Error)
		require.Contains(t, e.told(), fakelogin.Address+"\nLog in with the code ABCD-EFGH.")
	})
	bubble(t, func(t *testing.T) {
		e := loginEditor(t, `{}`, fakelogin.Scripts()["tells"], playing(says("hi")))
		e.beginSession()
		id := e.pair()
		require.Equal(t, 1, e.count("_factory/device_code"))
		require.Contains(t, e.told(), "userCode: ABCD-EFGH\nverificationUri: "+fakelogin.Address)
		for _, m := range e.received() {
			if m.Method == "_factory/confirm" {
				e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID))
			}
		}
		require.Nil(t, e.await(id).Error)
	})
}

// withoutLogin fails each turn as droid does that has no login, until it has one.
func withoutLogin(has *atomic.Bool) starter {
	var store fakedroid.Sessions
	return func(int) (*droid.Client, error) {
		knows := has.Load() // a droid that runs does not learn it
		return fakeDroid(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			if knows {
				return d.Say("", "Welcome.")
			}
			return d.Fail("error", "No access token available", "Authentication failed.")
		}), fakedroid.WithSessions(&store)), nil
	}
}

// A prompt that failed for want of a login runs after it, in the same session, and in
// all others; the droid that was started ahead is a new one, too.
func TestSessionsWorkAfterALogin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var has atomic.Bool
		proceed := make(chan struct{})
		e := loginEditor(t, `{}`, afterOpening(proceed), withoutLogin(&has))
		e.beginSession()
		other := e.session
		e.beginSession()
		require.Equal(t, "error -32000", short(e.await(e.prompt("hello"))))
		require.Equal(t, []string{"none"}, e.statuses())
		require.Equal(t, "error -32000", short(e.await(e.prompt("again"))), "the new droid has none either")
		require.Equal(t, []string{"none"}, e.statuses(), "it is told once")
		id := e.pair()
		has.Store(true)
		close(proceed)
		require.Nil(t, e.await(id).Error)
		require.Equal(t, []string{"none", "account"}, e.statuses())
		require.True(t, e.parked(), "the droid of before is gone")
		require.Equal(t, "end_turn", e.run("hello"))
		e.session = other
		require.Equal(t, "end_turn", e.run("hello"))
		e.beginSession()
		require.Equal(t, "end_turn", e.run("hello"))
	})
}

// A droid that works when the login comes is replaced after its turn; one that was
// started ahead at once.
func TestBusySessionAfterALogin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		var clients []*droid.Client
		var store fakedroid.Sessions
		e := loginEditor(t, `{}`, fakelogin.Scripts()["succeeds"], func(n int) (*droid.Client, error) {
			clients = append(clients, fakeDroid(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
				<-release
				return d.Say("", fmt.Sprint("from droid ", n))
			}), fakedroid.WithSessions(&store)))
			return clients[n-1], nil
		})
		e.beginSession()
		id := e.prompt("work")
		synctest.Wait()
		require.Nil(t, e.await(e.pair()).Error)
		require.False(t, e.parked(), "it works")
		close(release)
		require.Equal(t, "end_turn", ended(e.await(id)))
		require.Contains(t, e.told(), "from droid 1")
		require.Equal(t, "end_turn", e.run("more"))
		require.Contains(t, e.told(), "from droid 2")
		<-clients[0].Exited()
		require.Equal(t, "end_turn", e.run("more"))
		require.Len(t, clients, 2, "that one stays")
	})
	bubble(t, func(t *testing.T) {
		var clients []*droid.Client
		e := loginEditor(t, `{}`, fakelogin.Scripts()["succeeds"], func(n int) (*droid.Client, error) {
			clients = append(clients, fakeDroid(says("hi")))
			return clients[n-1], nil
		})
		synctest.Wait()
		require.Nil(t, e.await(e.pair()).Error)
		synctest.Wait()
		require.NotNil(t, clients[0].ExitError(), "it is gone")
		require.Len(t, clients, 2, "and there is another one")
		e.beginSession()
		require.Len(t, clients, 2, "which takes the session")
	})
}

// A droid through which the user logs in to an MCP server is kept, until a turn fails for
// want of a login.
func TestDroidInUseIsKeptAfterALogin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var has atomic.Bool
		e := loginEditor(t, canOpen, func(c *fakelogin.Conversation) { c.Succeed() }, withoutLogin(&has))
		e.beginSession()
		e.auth(loginAt("https://example.com/login"))
		has.Store(true)
		require.Nil(t, e.await(e.pair()).Error)
		require.False(t, e.parked())
		require.Equal(t, "error -32000", short(e.await(e.prompt("hello"))), "it has not learned of the login")
		require.Equal(t, "end_turn", e.run("hello"))
	})
}

// The user may log in elsewhere: after a turn that failed for want of a login the next
// prompt has a new droid.
func TestLoginElsewhere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var has atomic.Bool
		e := loginEditor(t, `{}`, fakelogin.Scripts()["silent"], withoutLogin(&has))
		e.beginSession()
		require.Nil(t, e.set("model", "fake-thinker").Error)
		require.Equal(t, "error -32000", short(e.await(e.prompt("hello"))))
		has.Store(true)
		require.Equal(t, "end_turn", e.run("hello"))
		require.Equal(t, []string{"none", "external"}, e.statuses(), "a model of Factory's has answered")
	})
}

// An editor that goes takes its login with it.
func TestLoginEndsWithTheEditor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ended := make(chan struct{})
		e := loginEditor(t, canOpen, func(c *fakelogin.Conversation) {
			defer close(ended)
			c.Open(fakelogin.Address)
			c.AwaitEnd()
		}, playing(says("hi")))
		e.pair()
		e.shownLogin(t)
		e.close()
		<-ended
	})
}

// short is how a prompt ended, with the code alone of an error.
func short(m wireMessage) string {
	if m.Error != nil {
		return fmt.Sprint("error ", m.Error.Code)
	}
	return ended(m)
}
