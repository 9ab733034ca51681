package login_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"droid-acp/internal/droid/login"
	"droid-acp/internal/testing/acptest"
	"droid-acp/internal/testing/fakelogin"
)

// messages records the calls of a Listener.
type messages struct {
	links, told, asked []string
	result             json.RawMessage
	err                error

	answer func(ctx context.Context) (json.RawMessage, error)
}

func accepts(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{"action":"accept"}`), nil
}

// listener records the calls until the login ends.
func (h *messages) listener() login.Listener {
	var mu sync.Mutex
	note := func(to *[]string, text string) {
		mu.Lock()
		defer mu.Unlock()
		*to = append(*to, text)
	}
	return login.Listener{
		Link: func(address string) { note(&h.links, address) },
		Tell: func(method string, params json.RawMessage) { note(&h.told, method+" "+string(params)) },
		Ask: func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			note(&h.asked, method+" "+string(params))
			return h.answer(ctx)
		},
	}
}

// logIn runs one login to its end.
func logIn(ctx context.Context, script fakelogin.Script, h *messages) *messages {
	h.result, h.err = login.Do(ctx, fakelogin.Start(script), login.Pairing, h.listener(), zap.NewNop())
	return h
}

func TestOutcomes(t *testing.T) {
	scripts := fakelogin.Scripts()
	for name, tc := range map[string]struct {
		script fakelogin.Script
		check  func(t *testing.T, w *messages)
	}{
		"success": {scripts["succeeds"], func(t *testing.T, w *messages) { require.JSONEq(t, `{}`, string(w.result)) }},
		"refusal": {scripts["refused"], func(t *testing.T, w *messages) {
			var refused *login.Error
			require.ErrorAs(t, w.err, &refused)
			require.Equal(t, -32603, refused.Code)
			require.Equal(t, "Internal error: Device authentication failed", refused.Message)
			require.Equal(t, "Authorization failed or expired", refused.Data)
			require.EqualError(t, w.err, "Internal error: Device authentication failed: Authorization failed or expired")
		}},
		"death": {scripts["dies"], func(t *testing.T, w *messages) {
			var died *login.DiedError
			require.ErrorAs(t, w.err, &died)
			require.Equal(t, login.DiedError{State: "exit status 3", Stderr: []string{"the last words"}}, *died)
			require.EqualError(t, w.err, "droid ended while it logged in (exit status 3): the last words")
		}},
		"nonsense lines are passed over": {scripts["nonsense"], func(t *testing.T, w *messages) { require.NotNil(t, w.result) }},
		"silence":                        {scripts["silent"], func(t *testing.T, w *messages) { require.ErrorIs(t, w.err, login.ErrTime) }},
		"neither result nor error": {func(c *fakelogin.Conversation) { c.Line(`{"jsonrpc":"2.0","id":2}`) },
			func(t *testing.T, w *messages) { require.ErrorContains(t, w.err, "neither a result nor an error") }},
		"an error with a result is none": {func(c *fakelogin.Conversation) {
			c.Line(`{"jsonrpc":"2.0","id":2,"result":{},"error":{"code":1,"message":"no"}}`)
		}, func(t *testing.T, w *messages) { require.EqualError(t, w.err, "no") }},
		"a result of null": {func(c *fakelogin.Conversation) { c.Line(`{"jsonrpc":"2.0","id":2,"result":null}`) },
			func(t *testing.T, w *messages) { require.Equal(t, "null", string(w.result)) }},
		"a response to another request is none": {func(c *fakelogin.Conversation) {
			c.Line(`{"jsonrpc":"2.0","id":1,"result":{}}`)
			c.Line(`{"jsonrpc":"2.0","id":"2","result":{}}`)
			c.Refuse()
		}, func(t *testing.T, w *messages) { require.ErrorContains(t, w.err, "failed or expired") }},
		"a line without an end": {func(c *fakelogin.Conversation) {
			c.Line(`{"jsonrpc":"2.0","method":"x","params":"` + strings.Repeat("x", 1<<20) + `"}`)
			c.Succeed()
		}, func(t *testing.T, w *messages) { require.NotNil(t, w.result); require.Empty(t, w.told) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := logIn(t.Context(), tc.script, &messages{})
				tc.check(t, w)
				require.Equal(t, w.err == nil, w.result != nil)
			})
		})
	}
}

// droid's requests are answered by the Listener, and its notifications reach it, including unknown methods.
func TestRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := logIn(t.Context(), fakelogin.Scripts()["asks"], &messages{answer: accepts})
		require.NoError(t, w.err)
		require.Len(t, w.asked, 1)
		require.Contains(t, w.asked[0], `elicitation/create {"requestId":1,"mode":"url"`)
		require.Equal(t, []string{`elicitation/complete {"elicitationId":"e1"}`}, w.told)
	})
	synctest.Test(t, func(t *testing.T) {
		w := logIn(t.Context(), fakelogin.Scripts()["tells"], &messages{answer: func(context.Context) (json.RawMessage, error) {
			return nil, &login.Error{Code: -32601, Message: "Method not found"}
		}})
		require.NoError(t, w.err, "droid got the error")
		require.Equal(t, []string{`_factory/confirm {"message":"Is this you?"}`}, w.asked)
		require.Len(t, w.told, 1)
		require.Contains(t, w.told[0], `"userCode":"ABCD-EFGH"`)
	})
}

// droid is informed of the client's capabilities and of the chosen method.
func TestDroidLearnsTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var caps json.RawMessage
		start := fakelogin.Start(func(c *fakelogin.Conversation) { caps = c.Capabilities; c.Fail(1, c.Method, "") })
		_, err := login.Do(t.Context(), start, login.APIKey, login.Listener{Capabilities: json.RawMessage(`{"elicitation":{"url":{}}}`)}, zap.NewNop())
		require.ErrorContains(t, err, login.APIKey)
		require.JSONEq(t, `{"elicitation":{"url":{}}}`, string(caps))
		var none *login.NoMethodError
		_, err = login.Do(t.Context(), start, "magic", login.Listener{}, zap.NewNop())
		require.ErrorAs(t, err, &none)
		require.Equal(t, []string{login.Pairing, login.APIKey}, none.Has)
	})
}

// droid's messages are read while it waits for an answer, up to a limit.
func TestTooManyMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failure json.RawMessage
		w := logIn(t.Context(), func(c *fakelogin.Conversation) {
			for range 100 {
				c.Tell("_x", `{}`)
			}
			_, failure = c.Ask("_y", `{}`)
			c.Succeed()
		}, &messages{answer: accepts})
		require.NoError(t, w.err)
		require.Len(t, w.told, 64)
		require.Empty(t, w.asked)
		require.NotEmpty(t, failure)
	})
}

// All of droid's text is safe to show, and only an address may be requested to be opened.
func TestDroidTextIsSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := logIn(t.Context(), fakelogin.Scripts()["hostile"], &messages{answer: accepts})
		require.NoError(t, w.err)
		require.Len(t, w.told, 2)
		require.Len(t, w.asked, 2, "the address and the form, not the script")
		for _, text := range append(w.told, w.asked...) {
			require.NoError(t, acptest.CheckSafe(strings.SplitN(text, " ", 2)[1], false))
		}
		require.Contains(t, w.told[0], `ABCD\\x1b[2K\\x1b]0;title\\x07\\r\\u202e\\u009b1A`)
	})
	synctest.Test(t, func(t *testing.T) {
		w := logIn(t.Context(), fakelogin.Scripts()["hostile refusal"], &messages{})
		require.NoError(t, acptest.CheckSafe(w.err.Error(), false))
		require.Contains(t, w.err.Error(), `none\\x1b[2K`)
	})
}

// A login that is ended ends its droid, and the cause is the answer.
func TestLoginIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := false
		time.AfterFunc(time.Minute, func() { cancel(login.ErrDeclined) })
		w := logIn(ctx, func(c *fakelogin.Conversation) { c.Open(fakelogin.Address); c.AwaitEnd(); ended = true }, &messages{})
		require.ErrorIs(t, w.err, login.ErrDeclined)
		require.True(t, ended)
		_, err := login.Do(ctx, nil, login.Pairing, login.Listener{}, zap.NewNop())
		require.ErrorIs(t, err, login.ErrDeclined, "none is started")
	})
}

// The cause of the end is the answer also if droid has exited before it is looked at.
func TestLoginIsEndedAndDroidExits(t *testing.T) {
	for range 20 { // the two are chosen from at random
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			link := func(string) { cancel(login.ErrDeclined); synctest.Wait() }
			start := fakelogin.Start(func(c *fakelogin.Conversation) { c.Open(fakelogin.Address); c.AwaitEnd() })
			_, err := login.Do(ctx, start, login.Pairing, login.Listener{Link: link}, zap.NewNop())
			require.ErrorIs(t, err, login.ErrDeclined)
		})
	}
}

// Anything but a web address is not shown.
func TestNoLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := logIn(t.Context(), func(c *fakelogin.Conversation) {
			for _, bad := range []string{"file:///etc/passwd", "https://", "https://x/\x1b[31m", "javascript:1", "https://x/" + strings.Repeat("y", 5000)} {
				c.Open(bad)
			}
			c.Open(fakelogin.Address)
			time.Sleep(time.Millisecond) // the addresses and the answer come by two ways
			c.Refuse()
		}, &messages{})
		require.Equal(t, []string{fakelogin.Address}, w.links)
	})
}

// A success that arrives while droid is asked to exit counts.
func TestLateSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		w := logIn(ctx, func(c *fakelogin.Conversation) { c.AwaitEnd(); c.Succeed() }, &messages{})
		require.NoError(t, w.err)
	})
}

// A droid that does not end when its input does is killed.
func TestStubbornDroid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		killed := make(chan struct{})
		start := func() (*login.Process, error) {
			in, stdin := io.Pipe()
			stdout, out := io.Pipe()
			go io.Copy(io.Discard, in)
			kill := sync.OnceFunc(func() { close(killed); out.Close(); in.Close() })
			return &login.Process{Stdin: stdin, Stdout: stdout, Terminate: func() {}, Kill: kill, Wait: func() *login.DiedError { return &login.DiedError{} }}, nil
		}
		began := time.Now()
		_, err := login.Do(t.Context(), start, login.Pairing, login.Listener{}, zap.NewNop())
		require.ErrorIs(t, err, login.ErrStartTime, "it did not even answer initialize")
		<-killed
		require.Equal(t, login.StartTime+3*time.Second, time.Since(began))
	})
}

// A panic in a listener ends the request to it, not the program.
func TestPanickingListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := logIn(t.Context(), fakelogin.Scripts()["tells"], &messages{answer: func(context.Context) (json.RawMessage, error) { panic("boom") }})
		require.NoError(t, w.err, "droid got an error and went on")
	})
}

// envScript makes this test program the scripted droid with that name.
const envScript = "FAKE_LOGIN"

func TestMain(m *testing.M) {
	if script := fakelogin.Scripts()[os.Getenv(envScript)]; script != nil {
		os.Exit(fakelogin.Run(os.Stdin, os.Stdout, fakelogin.OpenBrowser, script))
	}
	goleak.VerifyTestMain(m)
}
