package login_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/acptest"
	"droid-acp/internal/fakelogin"
	"droid-acp/internal/login"
)

// waiter is somebody who logs in, and what came to them.
type waiter struct {
	mu     sync.Mutex
	links  []string
	told   []string
	asked  []string
	result json.RawMessage
	err    error
	done   chan struct{}
	leave  context.CancelFunc

	link   func(ctx context.Context) bool // nil: the user goes there
	answer func(ctx context.Context) (json.RawMessage, *login.Error)
}

// logsIn begins to wait, in a goroutine of its own.
func (w *waiter) logsIn(t *testing.T, d *login.Desk) {
	ctx, cancel := context.WithCancel(t.Context())
	w.leave, w.done = cancel, make(chan struct{})
	go func() {
		defer close(w.done)
		w.result, w.err = d.Login(ctx, login.Pairing, login.Listener{
			Link: func(ctx context.Context, address string) bool {
				w.mu.Lock()
				w.links = append(w.links, address)
				w.mu.Unlock()
				return w.link == nil || w.link(ctx)
			},
			Tell: func(method string, params json.RawMessage) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.told = append(w.told, method+" "+string(params))
			},
			Ask: func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *login.Error) {
				w.mu.Lock()
				w.asked = append(w.asked, method+" "+string(params))
				w.mu.Unlock()
				return w.answer(ctx)
			},
		})
	}()
}

func accepts(context.Context) (json.RawMessage, *login.Error) {
	return json.RawMessage(`{"action":"accept"}`), nil
}

// desk counts starts and successes.
type desk struct {
	*login.Desk
	starts, successes int
}

func newDesk(t *testing.T, script fakelogin.Script) *desk {
	d := &desk{}
	start := fakelogin.Start(script)
	d.Desk = login.New(func() (*login.Process, error) { d.starts++; return start() }, func(string) { d.successes++ }, zap.NewNop())
	t.Cleanup(d.Close)
	return d
}

// logIn runs one login to its end.
func logIn(t *testing.T, script fakelogin.Script, w *waiter) (*waiter, *desk) {
	t.Helper()
	d := newDesk(t, script)
	w.logsIn(t, d.Desk)
	<-w.done
	return w, d
}

func TestOutcomes(t *testing.T) {
	scripts := fakelogin.Scripts()
	for name, tc := range map[string]struct {
		script fakelogin.Script
		check  func(t *testing.T, w *waiter)
	}{
		"success": {scripts["succeeds"], func(t *testing.T, w *waiter) { require.JSONEq(t, `{}`, string(w.result)) }},
		"refusal": {scripts["refused"], func(t *testing.T, w *waiter) {
			var refused *login.Error
			require.ErrorAs(t, w.err, &refused)
			require.Equal(t, -32603, refused.Code)
			require.Equal(t, "Internal error: Device authentication failed", refused.Message)
			require.JSONEq(t, `"Authorization failed or expired"`, string(refused.Data))
			require.EqualError(t, w.err, "Internal error: Device authentication failed: Authorization failed or expired")
		}},
		"death": {scripts["dies"], func(t *testing.T, w *waiter) {
			var died *login.DiedError
			require.ErrorAs(t, w.err, &died)
			require.Equal(t, login.DiedError{State: "exit status 3", Stderr: []string{"the last words"}, Started: true}, *died)
			require.EqualError(t, w.err, "droid ended while it logged in (exit status 3): the last words")
		}},
		"nonsense lines are passed over": {scripts["nonsense"], func(t *testing.T, w *waiter) { require.NotNil(t, w.result) }},
		"silence":                        {scripts["silent"], func(t *testing.T, w *waiter) { require.ErrorIs(t, w.err, login.ErrTime) }},
		"neither result nor error": {func(c *fakelogin.Conversation) { c.Line(`{"jsonrpc":"2.0","id":2}`) },
			func(t *testing.T, w *waiter) { require.ErrorContains(t, w.err, "neither a result nor an error") }},
		"an error with a result is none": {func(c *fakelogin.Conversation) {
			c.Line(`{"jsonrpc":"2.0","id":2,"result":{},"error":{"code":1,"message":"no"}}`)
		}, func(t *testing.T, w *waiter) { require.EqualError(t, w.err, "no") }},
		"a result of null": {func(c *fakelogin.Conversation) { c.Line(`{"jsonrpc":"2.0","id":2,"result":null}`) },
			func(t *testing.T, w *waiter) { require.Equal(t, "null", string(w.result)) }},
		"a response to another request is none": {func(c *fakelogin.Conversation) {
			c.Line(`{"jsonrpc":"2.0","id":1,"result":{}}`)
			c.Line(`{"jsonrpc":"2.0","id":"2","result":{}}`)
			c.Refuse()
		}, func(t *testing.T, w *waiter) { require.ErrorContains(t, w.err, "failed or expired") }},
		"a line without an end": {func(c *fakelogin.Conversation) {
			c.Line(`{"jsonrpc":"2.0","method":"x","params":"` + strings.Repeat("x", 1<<20) + `"}`)
			c.Succeed()
		}, func(t *testing.T, w *waiter) { require.NotNil(t, w.result); require.Empty(t, w.told) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, d := logIn(t, tc.script, &waiter{})
				tc.check(t, w)
				require.Equal(t, w.err == nil, w.result != nil)
				require.Equal(t, w.err == nil, d.successes == 1)
			})
		})
	}
}

// What droid asks is answered by whoever waits; what it tells reaches them, unknown
// methods too.
func TestRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := logIn(t, fakelogin.Scripts()["asks"], &waiter{answer: accepts})
		require.NoError(t, w.err)
		require.Len(t, w.asked, 1)
		require.Contains(t, w.asked[0], `elicitation/create {"requestId":1,"mode":"url"`)
		require.Equal(t, []string{`elicitation/complete {"elicitationId":"e1"}`}, w.told)
	})
	synctest.Test(t, func(t *testing.T) {
		w, _ := logIn(t, fakelogin.Scripts()["tells"], &waiter{answer: func(context.Context) (json.RawMessage, *login.Error) {
			return nil, &login.Error{Code: -32601, Message: "Method not found"}
		}})
		require.NoError(t, w.err, "droid got the error")
		require.Equal(t, []string{`_factory/confirm {"message":"Is this you?"}`}, w.asked)
		require.Len(t, w.told, 1)
		require.Contains(t, w.told[0], `"userCode":"ABCD-EFGH"`)
	})
}

// droid learns what the client can do, and which method was chosen.
func TestDroidLearnsTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var caps json.RawMessage
		d := newDesk(t, func(c *fakelogin.Conversation) { caps = c.Capabilities; c.Fail(1, c.Method, "") })
		_, err := d.Login(t.Context(), login.APIKey, login.Listener{Capabilities: json.RawMessage(`{"elicitation":{"url":{}}}`)})
		require.ErrorContains(t, err, login.APIKey)
		require.JSONEq(t, `{"elicitation":{"url":{}}}`, string(caps))
		var none *login.NoMethodError
		_, err = d.Login(t.Context(), "magic", login.Listener{})
		require.ErrorAs(t, err, &none)
		require.Equal(t, []string{login.Pairing, login.APIKey}, none.Has)
	})
}

// Two who log in at once share one droid. Who comes later learns what was told, who
// leaves does not end it, and the last one does.
func TestTwoShareOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		end := sync.OnceFunc(func() { close(ended) })
		d := newDesk(t, func(c *fakelogin.Conversation) {
			defer end()
			c.Open(fakelogin.Address)
			c.Tell("_x", `{}`)
			c.AwaitEnd()
		})
		first, second := &waiter{}, &waiter{}
		first.logsIn(t, d.Desk)
		synctest.Wait()
		second.logsIn(t, d.Desk)
		synctest.Wait()
		require.Equal(t, 1, d.starts)
		require.Equal(t, first.links, second.links)
		require.Equal(t, []string{fakelogin.Address}, second.links)
		require.Equal(t, []string{"_x {}"}, second.told)

		first.leave()
		<-first.done
		require.ErrorIs(t, first.err, context.Canceled)
		synctest.Wait()
		select {
		case <-ended:
			require.Fail(t, "the other still waits")
		default:
		}
		second.leave()
		<-second.done
		<-ended
		require.Zero(t, d.successes)

		third := &waiter{}
		third.logsIn(t, d.Desk)
		synctest.Wait()
		require.Equal(t, 2, d.starts, "nobody joins a login that is ending")
		third.leave()
		<-third.done
	})
}

// A request of droid's goes to one of two; when that one leaves, to the other.
func TestRequestGoesToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, fakelogin.Scripts()["asks"])
		first := &waiter{answer: func(ctx context.Context) (json.RawMessage, *login.Error) {
			<-ctx.Done()
			return json.RawMessage(`{"action":"cancel"}`), nil
		}}
		second := &waiter{answer: accepts}
		first.logsIn(t, d.Desk)
		synctest.Wait()
		second.logsIn(t, d.Desk)
		synctest.Wait()
		require.Len(t, first.asked, 1)
		require.Empty(t, second.asked)
		first.leave()
		<-second.done
		require.NoError(t, second.err)
		require.Equal(t, first.asked, second.asked)
		<-first.done
	})
}

// What droid says is safe to show for all who wait, wherever it stands; what it asks to
// be opened is an address.
func TestWhatDroidSaysIsSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := logIn(t, fakelogin.Scripts()["hostile"], &waiter{answer: accepts})
		require.NoError(t, w.err)
		require.Len(t, w.told, 2)
		require.Len(t, w.asked, 2, "the address and the form, not the script")
		for _, text := range append(w.told, w.asked...) {
			require.NoError(t, acptest.CheckSafe(strings.SplitN(text, " ", 2)[1], false))
		}
		require.Contains(t, w.told[0], `ABCD\\x1b[2K\\x1b]0;title\\x07\\r\\u202e\\u009b1A`)
	})
	synctest.Test(t, func(t *testing.T) {
		w, _ := logIn(t, fakelogin.Scripts()["hostile refusal"], &waiter{})
		require.NoError(t, acptest.CheckSafe(w.err.Error(), false))
		require.Contains(t, w.err.Error(), `none\\x1b[2K`)
	})
}

// Who does not want to go to the address has no login.
func TestDeclined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := logIn(t, fakelogin.Scripts()["pending"], &waiter{link: func(context.Context) bool { return false }})
		require.ErrorIs(t, w.err, login.ErrDeclined)
		require.Zero(t, d.successes)
	})
}

// What is no address on the web is not shown.
func TestNoLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := logIn(t, func(c *fakelogin.Conversation) {
			for _, bad := range []string{"file:///etc/passwd", "https://", "https://x/\x1b[31m", "javascript:1", "https://x/" + strings.Repeat("y", 5000)} {
				c.Open(bad)
			}
			c.Open(fakelogin.Address)
			time.Sleep(time.Millisecond) // the addresses and the answer come by two ways
			c.Refuse()
		}, &waiter{})
		require.Equal(t, []string{fakelogin.Address}, w.links)
	})
}

// A success that comes when nobody waits any more is one.
func TestLateSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, func(c *fakelogin.Conversation) { c.AwaitEnd(); c.Succeed() })
		w := &waiter{}
		w.logsIn(t, d.Desk)
		synctest.Wait()
		w.leave()
		<-w.done
		require.ErrorIs(t, w.err, context.Canceled)
		d.Close()
		require.Equal(t, 1, d.successes)
	})
}

// A droid that does not end when its input does is killed.
func TestStubbornDroid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		killed := make(chan struct{})
		d := login.New(func() (*login.Process, error) {
			in, stdin := io.Pipe()
			stdout, out := io.Pipe()
			go io.Copy(io.Discard, in)
			kill := sync.OnceFunc(func() { close(killed); out.Close(); in.Close() })
			return &login.Process{Stdin: stdin, Stdout: stdout, Terminate: func() {}, Kill: kill, Wait: func() *login.DiedError { return &login.DiedError{} }}, nil
		}, func(string) {}, zap.NewNop())
		began := time.Now()
		_, err := d.Login(t.Context(), login.Pairing, login.Listener{})
		require.ErrorIs(t, err, login.ErrStartTime, "it did not even answer initialize")
		<-killed
		require.Equal(t, login.StartTime+3*time.Second, time.Since(began))
		d.Close()
		_, err = d.Login(t.Context(), login.Pairing, login.Listener{})
		require.ErrorIs(t, err, login.ErrClosed)
	})
}

func TestDeskCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, fakelogin.Scripts()["pending"])
		w := &waiter{}
		w.logsIn(t, d.Desk)
		synctest.Wait()
		d.Close()
		<-w.done
		require.ErrorIs(t, w.err, login.ErrClosed)
	})
}

// A listener that panics ends what it was asked, not the program.
func TestPanickingListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := logIn(t, fakelogin.Scripts()["tells"], &waiter{answer: func(context.Context) (json.RawMessage, *login.Error) { panic("boom") }})
		require.NoError(t, w.err, "droid got an error and went on")
	})
}

func TestNoDroid(t *testing.T) {
	nothing := errors.New("no droid")
	d := login.New(func() (*login.Process, error) { return nil, nothing }, func(string) {}, zap.NewNop())
	_, err := d.Login(t.Context(), login.Pairing, login.Listener{})
	require.ErrorIs(t, err, nothing)
	d.Close()
}
