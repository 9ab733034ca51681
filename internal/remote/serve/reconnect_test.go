package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/remote/relay"
)

// link is a connection of a relay.Reconnector to the server, until it is cut.
type link struct {
	*Client
	messages chan string
	cut      chan struct{}
	once     sync.Once
	left     *cutAfter // nil if it is cut by the test alone
}

// cutAfter cuts a link at a message of either direction: before it, or once it has passed; and the next link after some more.
type cutAfter struct {
	messages int64
	passes   bool
	again    int64 // 0 for no second cut
}

// passes reports whether a message passes.
func (l *link) passes() bool {
	if l.left == nil {
		return true
	}
	if left := atomic.AddInt64(&l.left.messages, -1); left == 0 || left < 0 && left == -l.left.again {
		defer l.end()
		return l.left.passes
	}
	return true
}

func (l *link) Send(m []byte)         { l.messages <- string(m) }
func (l *link) Close(string)          { l.once.Do(func() { close(l.cut) }) }
func (l *link) Full() <-chan struct{} { return nil }

func (l *link) Waiting() int { return 0 }

func (l *link) end() {
	l.once.Do(func() { close(l.cut) })
	l.Disconnected()
}

// linkConn is the client's end of a link.
type linkConn struct{ *link }

var errCut = errors.New("it was cut")

func (l linkConn) Read(ctx context.Context) ([]byte, error) {
	select {
	case <-l.cut:
		return nil, errCut
	default:
	}
	select {
	case m := <-l.messages:
		if !l.passes() {
			return nil, errCut
		}
		return []byte(m), nil
	case <-l.cut:
		return nil, errCut
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l linkConn) Write(_ context.Context, message []byte) error {
	select {
	case <-l.cut:
		return errCut
	default:
		if l.passes() {
			l.Receive(message)
		}
		return nil
	}
}

func (l linkConn) Close() error { l.end(); return nil }

// editor is an editor whose links to the server can be cut.
type editor struct {
	*fakeClient // for what the editor gets
	conn        *relay.Reconnector
	link        *link
	refused     error // of further connections
	left        *cutAfter
	notes       []string
	ended       error
}

func (h *testServer) editor() (*editor, *fakeAgent) {
	e := &editor{fakeClient: &fakeClient{t: h.t, house: h, own: newFakeAgent(h.t, AttachParams{})}}
	h.t.Cleanup(e.own.exit)
	e.conn = &relay.Reconnector{Notify: func(text string) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.notes = append(e.notes, text)
	}, Connect: func(context.Context) (relay.MessageConn, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.refused != nil {
			return nil, e.refused
		}
		e.link = &link{left: e.left, messages: make(chan string, 1000), cut: make(chan struct{})}
		e.link.Client = h.Join(e.link, ClientOptions{Role: Full})
		return linkConn{e.link}, nil
	}}
	require.NoError(h.t, e.conn.Dial(h.t.Context()))
	go func() {
		for {
			m, err := e.conn.Read(h.t.Context())
			if err != nil {
				e.mu.Lock()
				defer e.mu.Unlock()
				e.ended = err
				return
			}
			e.fakeClient.Send(m)
		}
	}()
	h.t.Cleanup(func() { _ = e.conn.Close() })
	e.say(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"Zed","version":"1"},"clientCapabilities":%s}}`, everything)
	require.Len(h.t, e.take(), 1)
	return e, e.own
}

func (e *editor) refuse(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused = err
}

// cut cuts the current link.
func (e *editor) cut() {
	e.mu.Lock()
	link := e.link
	e.mu.Unlock()
	link.end()
}

// seen returns what the user was told, and how it ended.
func (e *editor) seen() (notes []string, ended error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.notes, e.ended
}

func (e *editor) say(format string, args ...any) {
	e.house.starts.Lock()
	e.house.next = e.own
	e.house.starts.Unlock()
	line := fmt.Appendf(nil, format, args...)
	go func() { _ = e.conn.Write(e.t.Context(), line) }()
	synctest.Wait()
}

// An editor whose link is cut during a turn gets all of the turn once, the answer to its prompt, and each question once.
func TestReconnect(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		e, a := h.editor()
		e.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		a.answer(a.next(), `{"sessionId":"s1"}`)
		e.say(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"go"}]}}`)
		prompt := a.next()
		a.works("s1", true)
		a.chunk("s1", "one")
		a.asksPermission("s1")
		got := e.take()
		require.Len(t, got, 3)
		question, _, _ := strings.Cut(got[2], "?")

		e.refuse(errors.New("no route"))
		e.cut()
		synctest.Wait()
		a.chunk("s1", "two")
		e.say(`{"jsonrpc":"2.0","id":%q,"result":%s}`, question, allowed)
		e.say(`{"jsonrpc":"2.0","id":"m","method":"session/set_mode","params":{"sessionId":"s1","modeId":"high"}}`)
		a.hearsNothing()
		require.Empty(t, e.take())
		e.refuse(nil)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"agent: two"}, e.take(), "the question is not asked again")
		mode, answer := a.next(), a.next()
		if mode.Method == "" {
			mode, answer = answer, mode
		}
		require.EqualValues(t, 77, answer.ID)
		require.Equal(t, "session/set_mode", mode.Method)
		a.hearsNothing()
		a.answer(mode, `{}`)
		a.chunk("s1", "three")
		a.answer(prompt, `{"stopReason":"end_turn"}`)
		require.Equal(t, []string{"m= {}", "agent: three", `p= {"stopReason":"end_turn"}`}, e.take())
		notes, _ := e.seen()
		require.Len(t, notes, 2)
		require.Equal(t, "the link to the server was cut (it was cut); connecting again, for up to 2m0s", notes[0])
		require.Contains(t, notes[1], "the link to the server is back, after ")

		for i := range 3 { // it ends unseen
			e.say(`{"jsonrpc":"2.0","id":"p%d","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"go"}]}}`, i)
			prompt = a.next()
			a.chunk("s1", fmt.Sprint("four ", i))
			e.refuse(errCut)
			e.cut()
			a.chunk("s1", fmt.Sprint("five ", i))
			a.answer(prompt, `{"stopReason":"end_turn"}`)
			synctest.Wait()
			e.refuse(nil)
			time.Sleep(time.Minute)
			got = e.take()
			require.Equal(t, []string{fmt.Sprint("agent: four ", i), fmt.Sprint("agent: five ", i)}, got[:2])
			require.Equal(t, fmt.Sprintf(`p%d= {"stopReason":"end_turn"}`, i), got[len(got)-1])
		}
		a.hearsNothing()
	})
}

// What the editor has not answered, and what was settled meanwhile, is withdrawn; a cancel reaches the agent.
func TestReconnectWithdraws(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		e, a := h.editor()
		other, _ := h.client("Zed", everything)
		e.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		a.answer(a.next(), `{"sessionId":"s1"}`)
		other.load("s1")
		e.say(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"go"}]}}`)
		a.next()
		a.works("s1", true)
		a.asksPermission("s1")
		e.take()
		id, _, _ := strings.Cut(other.take()[2], "?")
		e.refuse(errCut)
		e.cut()
		synctest.Wait()
		other.say(`{"jsonrpc":"2.0","id":%q,"result":%s}`, id, allowed)
		require.EqualValues(t, 77, a.next().ID)
		e.say(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
		e.refuse(nil)
		time.Sleep(time.Minute)
		require.Contains(t, e.take(), "cancel "+id)
		require.Equal(t, "session/cancel", a.next().Method)
	})
}

// A request of which nobody knows whether it was done gets an error; so does a prompt whose session is no longer there.
func TestReconnectUnknown(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		e, a := h.editor()
		e.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		a.answer(a.next(), `{"sessionId":"s1"}`)
		e.say(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"go"}]}}`)
		a.next()
		e.say(`{"jsonrpc":"2.0","id":"n2","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		a.next()
		e.take()
		e.refuse(errCut)
		e.cut()
		synctest.Wait()
		require.Equal(t, []string{"n2! The link to the server was cut before the answer to session/new came, so it is not known whether it was done. Look before you try again."}, e.take())
		a.exit()
		e.refuse(nil)
		time.Sleep(time.Minute)
		a = h.agents()[len(h.agents())-1]
		resume := a.next()
		for resume.Method == "initialize" {
			resume = a.next()
		}
		require.Equal(t, "session/resume", resume.Method)
		a.answer(resume, `{}`)
		got := strings.Join(e.take(), "\n")
		require.Contains(t, got, "p! The link to the server was cut, and meanwhile the session was closed or loaded anew there")
		require.Contains(t, got, "is not all shown here")
		require.Equal(t, 1, strings.Count(got, "p!"))
		require.Equal(t, 0, strings.Count(got, "p="))
		e.say(`{"jsonrpc":"2.0","id":"q","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"go"}]}}`)
		require.Equal(t, "session/prompt", a.next().Method)
	})
}

// A prompt that a server refused, because another one has its place, is sent to that one, also if the session cannot be loaded there.
func TestReconnectAfterARefusal(t *testing.T) {
	for _, loads := range []bool{true, false} {
		withServer(t, func(t *testing.T, h *testServer) {
			e, a := h.editor()
			e.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
			a.answer(a.next(), `{"sessionId":"s1"}`)
			e.take()
			h.mu.Lock()
			e.link.dismissed = true
			h.mu.Unlock()
			e.refuse(errCut)
			e.say(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"go"}]}}`)
			synctest.Wait()
			require.Empty(t, e.take())
			if !loads {
				a.exit()
			}
			e.refuse(nil)
			time.Sleep(time.Minute)
			if !loads {
				a = h.agents()[len(h.agents())-1]
			}
			m := a.next()
			for m.Method == "initialize" || m.Method == "session/resume" {
				if m.Method == "session/resume" {
					a.answer(m, `{}`)
				}
				m = a.next()
			}
			require.Equal(t, "session/prompt", m.Method)
			a.answer(m, `{"stopReason":"end_turn"}`)
			got := strings.Join(e.take(), "\n")
			require.Equal(t, 1, strings.Count(got, "p="), got)
			require.NotContains(t, got, "p!")
		})
	}
}

// A cancel of a prompt that a server has refused follows the prompt to the next server, once, and a later prompt follows both.
func TestReconnectCancelsAfterARefusal(t *testing.T) {
	for _, cancel := range []string{`"session/cancel","params":{"sessionId":"s1"}`, `"$/cancel_request","params":{"requestId":"p"}`} {
		withServer(t, func(t *testing.T, h *testServer) {
			e, a := h.editor()
			e.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
			a.answer(a.next(), `{"sessionId":"s1"}`)
			h.mu.Lock()
			e.link.dismissed = true
			h.mu.Unlock()
			e.refuse(errCut)
			e.say(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"go"}]}}`)
			e.say(`{"jsonrpc":"2.0","method":%s}`, cancel)
			e.say(`{"jsonrpc":"2.0","id":"q","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"then"}]}}`)
			e.refuse(nil)
			time.Sleep(time.Minute)
			var got []string
			for len(a.lines) > 0 {
				m := a.next()
				got = append(got, fmt.Sprint(m.Method, m.Params["prompt"]))
			}
			method, _, _ := strings.Cut(cancel[1:], `"`)
			require.Equal(t, []string{"session/prompt[map[text:go type:text]]", method + "<nil>", "session/prompt[map[text:then type:text]]"}, got)
		})
	}
}

// A link that does not come back ends it, after a limit.
func TestReconnectGivesUp(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		e, _ := h.editor()
		e.refuse(errors.New("no route"))
		e.cut()
		time.Sleep(relay.ReconnectTime - time.Second)
		_, ended := e.seen()
		require.NoError(t, ended)
		time.Sleep(2 * time.Second)
		notes, ended := e.seen()
		require.EqualError(t, ended, "it was cut; it could not be connected again within 2m0s: no route")
		require.ErrorIs(t, ended, errCut)
		require.Error(t, e.conn.Write(t.Context(), []byte("{}")))
		require.Len(t, notes, 1)
	})
}

// Wherever a link is cut, each request gets one answer, each text comes once and in order, and the agent gets each prompt and each answer
// once.
func TestReconnectAnywhere(t *testing.T) {
	for _, again := range []int64{0, 1, 2, 3, 5} {
		for _, passes := range []bool{false, true} {
			for n := int64(1); ; n++ {
				left := &cutAfter{n, passes, again}
				reconnectAt(t, left)
				if left.messages > 0 {
					require.Greater(t, n, int64(10))
					break
				}
			}
		}
	}
}

func reconnectAt(t *testing.T, left *cutAfter) {
	withServer(t, func(t *testing.T, h *testServer) {
		at := fmt.Sprintf("%+v", *left)
		e, a := h.editor()
		e.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		a.answer(a.next(), `{"sessionId":"s1"}`)
		e.take()
		e.mu.Lock()
		e.link.left, e.left = left, left
		e.mu.Unlock()
		var got []string
		await := func() {
			time.Sleep(time.Minute)
			for _, m := range e.take() {
				if !strings.HasPrefix(m, "session_info_update") {
					got = append(got, m)
				}
			}
		}
		for turn := range 2 {
			id := fmt.Sprint("p", turn)
			e.say(`{"jsonrpc":"2.0","id":%q,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"go"}]}}`, id)
			await()
			prompt := a.next()
			require.Equal(t, "session/prompt", prompt.Method, at)
			a.works("s1", true)
			a.chunk("s1", "one")
			a.chunk("s1", "two")
			a.asksPermission("s1")
			await()
			require.Len(t, got, 3, at)
			question, _, is := strings.Cut(got[2], "? session/request_permission")
			require.True(t, is, at)
			e.say(`{"jsonrpc":"2.0","id":%q,"result":%s}`, question, allowed)
			a.chunk("s1", "three")
			await()
			require.EqualValues(t, 77, a.next().ID, at)
			a.chunk("s1", "four")
			a.answer(prompt, `{"stopReason":"end_turn"}`)
			a.works("s1", false)
			await()
			a.hearsNothing()
			require.Equal(t, []string{"agent: one", "agent: two", got[2], "agent: three", "agent: four", id + `= {"stopReason":"end_turn"}`}, got, at)
			got = nil
		}
	})
}

// What the user has taken back, or another window has, is not restored with the link.
func TestReconnectRestoresNothingTakenBack(t *testing.T) {
	// restored returns what the server's agents hear when the link is back.
	restored := func(t *testing.T, h *testServer, e *editor) (heard []string) {
		e.refuse(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, a := range h.agents() {
			for len(a.lines) > 0 {
				heard = append(heard, a.next().Method)
			}
		}
		return heard
	}
	begin := func(e *editor, a *fakeAgent) {
		e.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		a.answer(a.next(), `{"sessionId":"s1"}`)
		e.take()
	}
	const other = `{"providerId":"main","apiType":"openai","baseUrl":"https://b"}`
	for method, params := range map[string]string{"logout": `{}`, "providers/disable": `{"providerId":"main"}`, "providers/set": other} {
		for _, answered := range []bool{true, false} {
			if answered && method == "providers/set" {
				continue // that one is restored
			}
			t.Run(fmt.Sprintf("%s, answered %t", method, answered), func(t *testing.T) {
				withServer(t, func(t *testing.T, h *testServer) {
					e, a := h.editor()
					e.say(`{"jsonrpc":"2.0","id":"s","method":"providers/set","params":{"providerId":"main","apiType":"openai","baseUrl":"https://a","headers":{"Authorization":%q}}}`, providerKey)
					a.answer(a.next(), `{}`)
					begin(e, a)
					e.say(`{"jsonrpc":"2.0","id":"o","method":%q,"params":%s}`, method, params)
					m := a.next()
					require.Equal(t, method, m.Method)
					if answered {
						a.answer(m, `{}`)
						e.take()
					}
					e.refuse(errCut)
					e.cut()
					require.NotContains(t, restored(t, h, e), "providers/set", "the keys")
				})
			})
		}
	}
	t.Run("but a gateway by authenticate", func(t *testing.T) {
		withServer(t, func(t *testing.T, h *testServer) {
			e, a := h.editor()
			e.say(`{"jsonrpc":"2.0","id":"s","method":"authenticate","params":{"methodId":"gateway","_meta":{"gateway":{"baseUrl":"https://a"}}}}`)
			a.answer(a.next(), `{}`)
			begin(e, a)
			e.refuse(errCut)
			e.cut()
			require.Contains(t, restored(t, h, e), "authenticate")
		})
	})
	t.Run("a mode that another window has set since", func(t *testing.T) {
		withServer(t, func(t *testing.T, h *testServer) {
			e, a := h.editor()
			begin(e, a)
			other, _ := h.client("Zed", everything)
			other.load("s1")
			other.take()
			require.Empty(t, a.lines)
			e.say(`{"jsonrpc":"2.0","id":"m","method":"session/set_mode","params":{"sessionId":"s1","modeId":"high"}}`)
			high := a.next()
			e.refuse(errCut)
			e.cut()
			synctest.Wait()
			a.answer(high, `{}`)
			other.say(`{"jsonrpc":"2.0","id":"o","method":"session/set_mode","params":{"sessionId":"s1","modeId":"off"}}`)
			a.answer(a.next(), `{}`)
			require.Contains(t, other.take(), "o= {}")
			require.NotContains(t, restored(t, h, e), "session/set_mode")
			require.Contains(t, fmt.Sprint(e.take()), "it is not known whether it was done")
		})
	})
	t.Run("a session that may have been archived", func(t *testing.T) {
		withServer(t, func(t *testing.T, h *testServer) {
			e, a := h.editor()
			begin(e, a)
			e.say(`{"jsonrpc":"2.0","id":"x","method":"session/archive","params":{"sessionId":"s1"}}`)
			m := a.next()
			e.refuse(errCut)
			e.cut()
			a.answer(m, `{}`)
			require.Empty(t, restored(t, h, e))
			require.Contains(t, fmt.Sprint(e.take()), "it is not known whether it was done")
		})
	})
}
