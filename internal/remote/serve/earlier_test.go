package serve

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// earlierServer is another server of the test, in which a client of this one is a local client.
type earlierServer struct {
	h      *testServer
	ended  bool
	broken error
}

func (e *earlierServer) Runs() bool { return !e.ended }

func (e *earlierServer) Yield(sessions []string) (inUse bool, err error) {
	return slices.ContainsFunc(sessions, func(id string) bool { return e.h.Yield(e.h.t.Context(), id) }), e.broken
}

func (e *earlierServer) Serve(h AttachParams, in io.Reader, out io.Writer) error {
	ended := make(chan struct{})
	messages := make(chan []byte, 100)
	c := e.h.Join(channelOutlet{messages, ended, sync.OnceFunc(func() { close(ended) })}, ClientOptions{Local: true})
	c.attachParams = h
	if h.WatchOnly {
		c.role = Watch
	}
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- []byte(s.Text())
		}
	}()
	defer func() {
		go func() {
			for range lines {
			}
		}()
		c.Disconnected()
	}()
	for {
		select {
		case m := <-messages:
			_, _ = out.Write(append(m, '\n'))
		case line, more := <-lines:
			if !more {
				return nil
			}
			c.Receive(line)
		case <-ended:
			for len(messages) > 0 { // what was queued before
				_, _ = out.Write(append(<-messages, '\n'))
			}
			return errors.New("the server ends")
		}
	}
}

// channelOutlet passes messages to a channel with room for them.
type channelOutlet struct {
	to    chan []byte
	ended chan struct{}
	close func()
}

func (o channelOutlet) Send(message []byte) {
	select {
	case <-o.ended: // nothing is sent behind the end
	default:
		o.to <- slices.Clone(message)
	}
}

func (o channelOutlet) Close(string)          { o.close() }
func (o channelOutlet) Full() <-chan struct{} { return nil }
func (o channelOutlet) Waiting() int          { return 0 }

// withTwoServers runs a test with a server and the earlier one, which drains.
func withTwoServers(t *testing.T, test func(t *testing.T, h, earlier *testServer, e *earlierServer)) {
	withServer(t, func(t *testing.T, first *testServer) {
		second := &testServer{t: t}
		e := &earlierServer{h: first}
		o := first.Options
		o.start, o.startQueryAgent, o.Earlier, o.Journals = second.start, second.startQueryAgent, e, t.TempDir()
		var err error
		second.Server, err = New(o)
		require.NoError(t, err)
		defer second.Server.Close(t.Context())
		test(t, second, first, e)
	})
}

// A client of a new server reaches a session that works in the earlier one: it sees the turn and answers its question, and the turn goes on
// when it leaves. At the end of the earlier server its connection ends, so that it opens the session again, in the new one.
func TestSessionOfAnEarlierServer(t *testing.T) {
	withTwoServers(t, func(t *testing.T, h, first *testServer, e *earlierServer) {
		one, a := first.client("Zed", everything)
		one.opens(a, "s1")
		prompt := one.prompts(a, "s1", "Say hello.")
		a.chunk("s1", "hello")
		a.asksPermission("s1")
		one.Disconnected()
		drained := make(chan error, 1)
		go func() { drained <- first.DrainAside(t.Context()) }()

		two, own := h.client("Zed", everything)
		two.opens(own, "s2")
		two.load("s1")
		own.hearsNothing()
		got := strings.Join(two.take(), "\n")
		require.Contains(t, got, "agent: hello\n")
		require.Contains(t, got, "l= ")
		require.Contains(t, got, "? session/request_permission")
		states := map[string]string{}
		for _, session := range h.Status().Sessions {
			states[session.ID] = session.State
		}
		require.Equal(t, map[string]string{"s1": Asking, "s2": Idle}, states)

		two.Disconnected()
		time.Sleep(24 * time.Hour / 48)
		require.Equal(t, Asking, first.Status().Sessions[0].State, "nobody has answered")
		three, _ := h.client("Zed", everything)
		three.load("s1")
		require.Contains(t, strings.Join(three.take(), "\n"), "? session/request_permission")
		three.say(`{"jsonrpc":"2.0","id":%q,"result":%s}`, h.onlyQuestion(), allowed)
		require.JSONEq(t, allowed, string(a.next().Result))
		require.Empty(t, drained)
		a.answer(prompt, `{"stopReason":"end_turn"}`)
		synctest.Wait()
		require.NoError(t, <-drained)
		first.Server.Close(t.Context())
		e.ended = true
		synctest.Wait()
		require.Equal(t, TakenOver, three.reason())
		require.Empty(t, h.unfinished, "the turn has an end")

		four, _ := h.client("Zed", everything)
		four.load("s1")
		own = h.agents()[len(h.agents())-1]
		for m := own.next(); m.Method != "session/load"; m = own.next() { // the session that nobody has any more is closed first
		}
	})
}

// A session that is open unused in the earlier server is closed there, and opened in the new one. What the earlier server does not have open
// is none of its business.
func TestUnusedSessionOfAnEarlierServer(t *testing.T) {
	withTwoServers(t, func(t *testing.T, h, first *testServer, e *earlierServer) {
		one, a := first.client("Zed", everything)
		one.opens(a, "s1")
		asked := one.prompts(a, "s1", "Say hello.")
		a.answer(asked, `{"stopReason":"end_turn"}`)
		one.Disconnected()
		go func() { _ = first.Drain(t.Context()) }()
		two, own := h.client("Zed", everything)
		go two.Receive([]byte(`{"jsonrpc":"2.0","id":"l","method":"session/load","params":{"sessionId":"s1","cwd":"/w","mcpServers":[]}}`))
		synctest.Wait()
		a.closes("s1")
		synctest.Wait()
		require.Equal(t, "session/load", own.next().Method)
		two.load("s9")
		require.Equal(t, "session/load", own.next().Method)
		require.Empty(t, first.Status().Sessions)
	})
}

// Where it is not known what the earlier server has open, nothing is opened.
func TestEarlierServerDoesNotAnswer(t *testing.T) {
	withTwoServers(t, func(t *testing.T, h, first *testServer, e *earlierServer) {
		e.broken = errors.New("it does not answer")
		c, own := h.client("Zed", everything)
		c.load("s1")
		require.Equal(t, []string{"l! Not done: the server that this one replaces does not say whether it has the session open. Try again in a while."}, c.take())
		own.hearsNothing()
		c.opens(own, "s2")
	})
}

// A role holds in the earlier server, too.
func TestRolesInAnEarlierServer(t *testing.T) {
	withTwoServers(t, func(t *testing.T, h, first *testServer, e *earlierServer) {
		one, a := first.client("Zed", everything)
		one.opens(a, "s1")
		var c *fakeClient
		for _, role := range []Role{Prompt, Watch} {
			if c != nil {
				c.Disconnected()
			}
			c, _ = h.clientOf("Neovim", everything, ClientOptions{Role: role, Token: "screen"})
			c.say(`{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"s1","cwd":"/elsewhere","mcpServers":[{"name":"x","command":"/bin/sh"}]}}`)
			require.Contains(t, strings.Join(c.take(), "\n"), "2= ")
			a.hearsNothing()
		}
		one.prompts(a, "s1", "Say hello.")
		a.asksPermission("s1")
		require.Contains(t, strings.Join(one.take(), "\n"), "? session/request_permission")
		require.NotContains(t, strings.Join(c.take(), "\n"), "session/request_permission")
		require.Empty(t, h.questions)
		c.say(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`)
		require.Contains(t, strings.Join(c.take(), "\n"), "3! Not done")
		a.hearsNothing()
	})
}

// A new server leaves the journals of one that still runs where they are, and takes those of one that was killed.
func TestJournalsOfAnEarlierServer(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, journalKey("s1")+"-000001.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("{}\n"), 0o600))
	e := new(earlierServer)
	s, err := New(Options{Journals: dir, Earlier: e, Log: zap.NewNop()})
	require.NoError(t, err)
	require.Empty(t, s.unfinished)
	s.Close(t.Context())
	require.FileExists(t, path)
	require.DirExists(t, filepath.Join(dir, unfinishedDir))
	e.ended = true
	s, err = New(Options{Journals: dir, Earlier: e, Log: zap.NewNop()})
	require.NoError(t, err)
	require.NoFileExists(t, path)
	require.Len(t, s.unfinished, 1)
	s.Close(t.Context())
}

// A server whose place another one has taken ends the connection of each client once nothing works for it: its next prompt goes to the other
// server.
func TestClientsOfAServerAside(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		two, _ := h.client("Zed", everything)
		two.opens(a, "s2")
		three, _ := h.client("Zed", everything)
		three.load("s1")
		prompt := one.prompts(a, "s1", "Say hello.")
		other := two.prompts(a, "s2", "Say hello.")
		idle, _ := h.client("Zed", everything)
		drained := make(chan error, 1)
		go func() { drained <- h.DrainAside(t.Context()) }()
		synctest.Wait()
		time.Sleep(dismissTime)
		synctest.Wait()
		require.Equal(t, []string{TakenOver, "", "", ""}, []string{idle.reason(), one.reason(), two.reason(), three.reason()})
		one.take()
		a.works("s1", false)
		require.Empty(t, one.reason(), "its prompt is not answered")
		a.answer(prompt, `{"stopReason":"end_turn"}`)
		require.Equal(t, []string{`p= {"stopReason":"end_turn"}`}, one.take())
		require.Equal(t, []string{"", "", ""}, []string{one.reason(), two.reason(), three.reason()}, "its next request may be on its way")
		one.say(`{"jsonrpc":"2.0","id":"q","method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`)
		require.Equal(t, []string{"q! Not done: another server has the place of this one. Connect again, and open the session again."}, one.take())
		require.Equal(t, []string{TakenOver, "", ""}, []string{one.reason(), two.reason(), three.reason()})
		a.hearsNothing()
		time.Sleep(dismissTime)
		synctest.Wait()
		require.Equal(t, []string{TakenOver, "", TakenOver}, []string{one.reason(), two.reason(), three.reason()})
		require.Empty(t, drained)
		a.answer(other, `{"stopReason":"end_turn"}`)
		synctest.Wait()
		require.NoError(t, <-drained)
	})
}
