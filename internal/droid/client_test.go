package droid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
)

const (
	old   = "1.15.0"
	young = "1.220.0"
)

// learn makes the client know the peer's version.
func learn(c *Client, p *peer) {
	p.notify(`{"type":"droid_working_state_changed","newState":"idle"}`)
	<-c.Events()
}

// Before 0.215 one call at a time (quirk 12).
func TestCallsSerialisedUntilIDsAreKept(t *testing.T) {
	for _, version := range []string{"", old, "1.205.9"} {
		synctest.Test(t, func(t *testing.T) {
			c, p := newPeer(t, version)
			learn(c, p)
			update := func() error { return c.UpdateSettings(t.Context(), stream.SettingsPatch{ModelID: new("m")}) }
			first := async(update)
			a := p.expect(methodUpdateSettings)
			second := async(update)
			synctest.Wait()
			third := async(func() error { return c.Interrupt(t.Context()) })
			i := p.expect(methodInterrupt) // overtakes the second
			require.JSONEq(t, `{}`, string(i.Params), "params are never absent")
			p.refuse("null", -32600, "Invalid request format") // not the interrupt's
			require.ErrorContains(t, <-first, "Invalid request format")
			p.reply(i.ID, `{}`)
			require.NoError(t, <-third)
			b := p.expect(methodUpdateSettings)
			require.NotEqual(t, a.ID, b.ID)
			p.reply(b.ID, `{}`)
			require.NoError(t, <-second)
		})
	}
}

func TestCallsTogetherWhenIDsAreKept(t *testing.T) {
	c, p := newPeer(t, young)
	learn(c, p)
	update := func() error { return c.UpdateSettings(testContext(t), stream.SettingsPatch{}) }
	first, second := async(update), async(update)
	a, b := p.expect(methodUpdateSettings), p.expect(methodUpdateSettings)
	p.refuse("null", -32700, "Invalid JSON") // whose?
	require.Equal(t, stream.LateError{Err: &stream.RPCError{Code: -32700, Message: "Invalid JSON"}}, <-c.Events())
	p.reply(b.ID, `{}`)
	p.refuse(fmt.Sprintf("%q", a.ID), -32602, "bad")
	errs := []error{<-first, <-second}
	if errs[0] == nil { // either may have been a
		errs[0], errs[1] = errs[1], errs[0]
	}
	var refused *stream.RPCError
	require.ErrorAs(t, errs[0], &refused)
	require.Equal(t, -32602, refused.Code)
	require.NoError(t, errs[1])
}

// A call that waits for its turn is ended by its context and by droid's death.
func TestWaitForTurnEnds(t *testing.T) {
	c, p := newPeer(t, old)
	first := async(func() error { return c.UpdateSettings(testContext(t), stream.SettingsPatch{}) })
	p.expect(methodUpdateSettings)
	ctx, cancel := context.WithCancel(t.Context())
	second := async(func() error { return c.UpdateSettings(ctx, stream.SettingsPatch{}) })
	third := async(func() error { return c.UpdateSettings(testContext(t), stream.SettingsPatch{}) })
	cancel()
	err := <-second
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, errNotSent)
	p.out.Close()
	var exit *ExitError
	require.ErrorAs(t, <-first, &exit)
	require.ErrorAs(t, <-third, &exit)
	require.False(t, exit.Started)
}

// An error without an id belongs to no call (quirk 12).
func TestNullIDWithoutCall(t *testing.T) {
	c, p := newPeer(t, old)
	p.refuse("null", -32603, "Session interrupted by user")
	require.Equal(t, stream.LateError{Err: &stream.RPCError{Code: -32603, Message: "Session interrupted by user"}}, <-c.Events())

	interrupt := async(func() error { return c.Interrupt(testContext(t)) })
	p.expect(methodInterrupt)
	p.refuse("null", -32600, "no")
	require.ErrorContains(t, <-interrupt, "interrupt_session: droid: no")
}

// droid still answers a call that was abandoned. That answer is not mistaken for the answer to the next call.
func TestGivenUpCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := newPeer(t, old)
		learn(c, p)
		giveUp := func() peerMessage {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			compact := async(func() error { _, _, err := c.Compact(ctx, ""); return err })
			m := p.expect("droid.compact_session")
			cancel()
			require.ErrorIs(t, <-compact, context.Canceled)
			return m
		}
		next := func() (<-chan error, peerMessage) {
			sent := async(func() error { return c.AddUserMessage(t.Context(), stream.UserMessage{Text: "next"}) })
			return sent, p.expect(methodAddUserMessage)
		}

		// An error without id.
		first := giveUp()
		sent, m := next()
		p.refuse("null", -32600, "Invalid request format")
		require.Equal(t, stream.LateError{RequestID: first.ID, Err: &stream.RPCError{Code: -32600, Message: "Invalid request format"}}, <-c.Events())
		require.Empty(t, sent)
		p.reply(m.ID, `{}`)
		require.NoError(t, <-sent)

		// droid reads in order: what it has read without a word is not refused later.
		first = giveUp()
		sent, m = next()
		p.reply(m.ID, `{}`)
		require.NoError(t, <-sent)
		sent, m = next()
		p.refuse("null", -32600, "Invalid request format")
		require.ErrorContains(t, <-sent, "Invalid request format")

		// It may have done what was asked.
		p.reply(first.ID, `{"newSessionId":"late"}`)
		require.Equal(t, stream.LateResult{NewSessionID: "late"}, <-c.Events())
		p.reply(first.ID, `{"newSessionId":"late"}`)
		p.reply(m.ID, `{}`)
		synctest.Wait()
		require.Empty(t, c.Events(), "once, and of given-up calls only")
	})
}

// A result and then an error for one request: the call has returned, and the
// error is an event (quirk 13).
func TestDoubleResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := newPeer(t, young)
		sent := async(func() error {
			return c.AddUserMessage(testContext(t), stream.UserMessage{RequestID: "p1", Text: "x"})
		})
		p.expect(methodAddUserMessage)
		p.reply("p1", `{}`)
		p.refuse(`"p1"`, -32603, "No active session.")
		p.reply("p1", `{}`) // a third one changes nothing
		require.NoError(t, <-sent)
		require.Equal(t, stream.LateError{RequestID: "p1", Err: &stream.RPCError{Code: -32603, Message: "No active session."}}, <-c.Events())
		require.Empty(t, c.Events())
	})
}

func TestRequestsOfDroid(t *testing.T) {
	c, p := newPeer(t, young)
	p.send(`"type":"request","id":"u1","method":"droid.do_something","params":{"x":1}`)
	m := p.next()
	require.Equal(t, peerMessage{JSONRPC: "2.0", Type: stream.TypeResponse, FactoryAPIVersion: "1.0.0", ID: "u1",
		Error: &stream.RPCError{Code: -32601, Message: "Method not found"}}, m)
	require.Equal(t, stream.Unknown{Type: "do_something", Raw: json.RawMessage(`{"x":1}`)}, <-c.Events())

	p.send(`"type":"request","id":"u2","method":"droid.request_permission","params":{"toolUses":"?"}`)
	m = p.next()
	require.Equal(t, "u2", m.ID)
	require.Equal(t, jsonrpc.CodeInvalidParams, m.Error.Code)
	require.Error(t, (<-c.Events()).(stream.Unknown).Err)

	p.send(`"type":"request","id":"u3","method":"droid.request_permission","params":{"toolUses":[],"options":[]}`)
	require.Equal(t, "u3", (<-c.Events()).(stream.PermissionRequest).RequestID)
	require.NoError(t, c.AnswerPermission("u3", stream.OptionCancel))
	m = p.next()
	require.Equal(t, stream.TypeResponse, m.Type)
	require.Equal(t, "u3", m.ID)
	require.JSONEq(t, `{"selectedOption":"cancel"}`, string(m.Result))

	require.NoError(t, c.ApproveEditedPlan("u6", "# Mine <b>"))
	require.JSONEq(t, `{"selectedOption":"proceed_edit","editedSpecContent":"# Mine <b>"}`, string(p.next().Result))
	require.Error(t, c.ApproveEditedPlan("u7", " \n"), "an empty plan is none")

	require.NoError(t, c.AnswerQuestions("u4", stream.Answers{Answers: []stream.Answer{{Index: 1, Question: "Which?", Answer: "Red <b>"}}}))
	require.JSONEq(t, `{"cancelled":false,"answers":[{"index":1,"question":"Which?","answer":"Red <b>"}]}`, string(p.next().Result))
	require.NoError(t, c.AnswerQuestions("u5", stream.Answers{Cancelled: true}))
	require.JSONEq(t, `{"cancelled":true,"answers":[]}`, string(p.next().Result))
}

func TestInitializeAndLoad(t *testing.T) {
	c, p := newPeer(t, young)
	ctx := testContext(t)
	_, err := c.Initialize(ctx, InitializeParams{})
	require.ErrorContains(t, err, "no working directory")
	_, err = c.Load(ctx, LoadParams{})
	require.ErrorContains(t, err, "no session id")

	type opened struct {
		info *stream.SessionInfo
		err  error
	}
	initialize := func(params InitializeParams) <-chan opened {
		ch := make(chan opened, 1)
		go func() { info, err := c.Initialize(ctx, params); ch <- opened{info, err} }()
		return ch
	}
	load := func(params LoadParams) <-chan opened {
		ch := make(chan opened, 1)
		go func() { info, err := c.Load(ctx, params); ch <- opened{info, err} }()
		return ch
	}

	// Refused: may be tried again.
	ch := initialize(InitializeParams{CWD: "/none"})
	m := p.expect(methodInitialize)
	var sent map[string]any
	require.NoError(t, json.Unmarshal(m.Params, &sent))
	require.Len(t, sent, 2)
	require.NotEmpty(t, sent["machineId"])
	p.refuse(fmt.Sprintf("%q", m.ID), -32603, "Working directory does not exist")
	require.ErrorContains(t, (<-ch).err, "does not exist")

	ch = initialize(InitializeParams{
		MachineID: "m", CWD: "/w", SessionID: "s", Settings: stream.ModeSettings(stream.Version{Major: 1, Minor: 15, Patch: 0}, stream.ModeSpec),
		MCPServers: []stream.MCPServer{
			{Name: "a", Command: "c"},
			{Name: "b", Command: "c", Args: []string{"x"}, Env: map[string]string{"K": "V"}},
			{Name: "h", URL: "http://x"},
			{Name: "i", URL: "http://x", Headers: []stream.MCPHeader{{Name: "K", Value: "V"}}},
			{Name: "s", URL: "http://x", SSE: true},
		},
	})
	m = p.expect(methodInitialize)
	require.JSONEq(t, `{"machineId":"m","cwd":"/w","sessionId":"s","autonomyMode":"spec","mcpServers":[
		{"name":"a","command":"c","args":[],"env":{}},
		{"name":"b","command":"c","args":["x"],"env":{"K":"V"}},
		{"type":"http","name":"h","url":"http://x","headers":[]},
		{"type":"http","name":"i","url":"http://x","headers":[{"name":"K","value":"V"}]},
		{"type":"sse","name":"s","url":"http://x","headers":[]}]}`, string(m.Params))
	p.reply(m.ID, `{"sessionId":"s","session":{"messages":[]},"settings":{"modelId":"M","autonomyMode":"spec"},
		"availableModels":[{"id":"M","displayName":"Model","extra":1},{"id":"N","isCustom":"yes"}]}`)
	o := <-ch
	require.NoError(t, o.err)
	require.Equal(t, "s", o.info.SessionID)
	require.Equal(t, stream.ModeSpec, o.info.Settings.Mode())
	require.Equal(t, "Model", o.info.AvailableModels[0].DisplayName)
	require.JSONEq(t, `{"id":"M","displayName":"Model","extra":1}`, string(o.info.AvailableModels[0].Raw))
	require.Equal(t, "N", o.info.AvailableModels[1].ID)

	_, err = c.Initialize(ctx, InitializeParams{CWD: "/w"})
	require.ErrorIs(t, err, ErrHasSession)

	ch = load(LoadParams{SessionID: "t", MessageLimit: 100000})
	m = p.expect(methodLoad)
	require.JSONEq(t, `{"sessionId":"t","messageLimit":100000}`, string(m.Params))
	p.reply(m.ID, `{"session":{"title":"T","messages":[{"id":"1","role":"user","content":[]},{"id":2},{"id":"3","role":"tool","content":[{"type":"tool_result","tool_use_id":"c","content":"x"}]}]},
		"hasOlderMessages":true,"isAgentLoopInProgress":true,"cwd":"/w","tokenUsage":{"inputTokens":7},"settings":{}}`)
	o = <-ch
	require.NoError(t, o.err)
	require.Equal(t, "t", o.info.SessionID, "droid does not repeat it")
	require.Equal(t, "T", o.info.Title)
	require.Len(t, o.info.Messages, 2)
	require.Equal(t, 1, o.info.Unreadable)
	require.True(t, o.info.HasOlderMessages)
	require.Equal(t, int64(7), o.info.TokenUsage.InputTokens)
	require.Equal(t, "c", o.info.Messages[1].Content[0].ToolUseID)

	ch = load(LoadParams{SessionID: "none"})
	m = p.expect(methodLoad)
	p.refuse(fmt.Sprintf("%q", m.ID), -32004, "Session not found")
	require.ErrorContains(t, (<-ch).err, "Session not found")
	_, err = c.Initialize(ctx, InitializeParams{CWD: "/w"})
	require.ErrorIs(t, err, ErrHasSession, "the earlier session is still there")
}

// Load alone takes the place of Initialize; when it failed there is no session (quirk 20).
func TestInitializeAfterLoad(t *testing.T) {
	c, p := newPeer(t, young)
	ctx, cancel := context.WithCancel(testContext(t))
	done := async(func() error { _, err := c.Load(ctx, LoadParams{SessionID: "t"}); return err })
	m := p.expect(methodLoad)
	p.refuse(fmt.Sprintf("%q", m.ID), -32004, "Session not found")
	require.Error(t, <-done)

	// Its outcome unknown, an Initialize counts.
	done = async(func() error { _, err := c.Initialize(ctx, InitializeParams{CWD: "/w"}); return err })
	p.expect(methodInitialize)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	_, err := c.Initialize(testContext(t), InitializeParams{CWD: "/w"})
	require.ErrorIs(t, err, ErrHasSession)
}

func TestAddUserMessage(t *testing.T) {
	c, p := newPeer(t, young)
	learn(c, p)
	ctx := testContext(t)
	done := async(func() error { return c.AddUserMessage(ctx, stream.UserMessage{}) })
	m := p.expect(methodAddUserMessage)
	require.JSONEq(t, `{"text":""}`, string(m.Params), "text is required")
	p.reply(m.ID, `{}`)
	require.NoError(t, <-done)

	done = async(func() error {
		return c.AddUserMessage(ctx, stream.UserMessage{
			RequestID: "mine", Text: "a < b", MessageID: "id",
			Images: []stream.Image{{Data: "aW1n", MediaType: "image/png"}},
			Files: []stream.File{
				{Name: "n.txt", MediaType: "text/plain", Data: "body"},
				{Name: "x.pdf", MediaType: "application/pdf", Data: "cGRm", Base64: true},
			},
		})
	})
	m = p.expect(methodAddUserMessage)
	require.Equal(t, "mine", m.ID)
	require.Contains(t, string(m.Params), `"a < b"`, "no HTML escapes")
	require.JSONEq(t, `{"text":"a < b","messageId":"id",
		"images":[{"type":"base64","data":"aW1n","mediaType":"image/png"}],
		"files":[{"type":"text","mediaType":"text/plain","data":"body","name":"n.txt"},
			{"type":"base64","mediaType":"application/pdf","data":"cGRm","name":"x.pdf"}]}`, string(m.Params))
	require.ErrorContains(t, c.AddUserMessage(ctx, stream.UserMessage{RequestID: "mine"}), `"mine" is in use`)
	p.refuse(`"mine"`, -32602, "no")
	require.ErrorContains(t, <-done, "add_user_message: droid: no")
}

func TestCall(t *testing.T) {
	c, p := newPeer(t, young)
	ctx := testContext(t)
	var result struct{ Models []string }
	done := async(func() error { return c.Call(ctx, "droid.list_models", map[string]int{"a": 1}, &result) })
	m := p.expect("droid.list_models")
	require.JSONEq(t, `{"a":1}`, string(m.Params))
	p.reply(m.ID, `{"models":["x"]}`)
	require.NoError(t, <-done)
	require.Equal(t, []string{"x"}, result.Models)

	done = async(func() error { return c.Call(ctx, "droid.list_models", nil, &result) })
	p.reply(p.expect("droid.list_models").ID, `[]`)
	require.ErrorContains(t, <-done, "list_models: decoding the result")
	require.ErrorContains(t, c.Call(ctx, "droid.x", func() {}, nil), "encoding")
}

// A call that is cancelled while it waits behind a blocked write is not sent.
func TestWithdraw(t *testing.T) {
	c, p := newPeer(t, young)
	learn(c, p)
	first := async(func() error { return c.AddUserMessage(testContext(t), stream.UserMessage{RequestID: "1"}) })
	for c.outstanding() < 1 || c.backlog() > 0 {
		runtime.Gosched() // until the writer is stuck: the peer does not read
	}
	ctx, cancel := context.WithCancel(t.Context())
	second := async(func() error { return c.AddUserMessage(ctx, stream.UserMessage{RequestID: "2"}) })
	for c.backlog() == 0 {
		runtime.Gosched()
	}
	cancel()
	require.ErrorIs(t, <-second, errNotSent)
	third := async(func() error { return c.AddUserMessage(testContext(t), stream.UserMessage{RequestID: "3"}) })
	for _, id := range []string{"1", "3"} {
		require.Equal(t, id, p.expect(methodAddUserMessage).ID)
		p.reply(id, `{}`)
	}
	require.NoError(t, <-first)
	require.NoError(t, <-third)
}

// A droid that reads nothing makes calls fail before memory does; answers are
// queued all the same.
func TestBacklog(t *testing.T) {
	c, p := newPeer(t, young)
	learn(c, p)
	c.out.max = 10_000
	text := strings.Repeat("x", c.out.max/2)
	send := func() error { return c.AddUserMessage(t.Context(), stream.UserMessage{Text: text}) }
	first := async(send)
	for c.outstanding() < 1 || c.backlog() > 0 {
		runtime.Gosched()
	}
	second := async(send)
	for c.backlog() == 0 {
		runtime.Gosched()
	}
	require.ErrorIs(t, send(), ErrBacklog)
	require.NoError(t, c.AnswerPermission("p", stream.OptionCancel))
	c.Kill()
	var exit *ExitError
	require.ErrorAs(t, <-first, &exit)
	require.ErrorAs(t, <-second, &exit)
	require.True(t, exit.Requested)
}

func TestBrokenStdin(t *testing.T) {
	c, p := newPeer(t, young)
	learn(c, p)
	p.stdin.Close()
	var exit *ExitError
	err := c.Interrupt(testContext(t))
	require.ErrorAs(t, err, &exit)
	require.EqualError(t, exit, "droid is gone")
	require.Nil(t, c.ExitError(), "stdout has not ended")
}

// The reader of Events slows droid, and nothing is lost or reordered.
func TestBackpressure(t *testing.T) {
	c, p := newPeer(t, young)
	const n = eventBuffer + 50
	sent := make(chan int, n)
	go func() {
		defer p.out.Close()
		for i := range n {
			p.notify(fmt.Sprintf(`{"type":"assistant_text_delta","messageId":"m","blockIndex":%d,"textDelta":"x"}`, i))
			sent <- i
		}
	}()
	for len(c.events) < eventBuffer {
		runtime.Gosched()
	}
	require.Less(t, len(sent), n)
	next := 0
	for e := range c.Events() {
		require.Equal(t, stream.TextDelta{MessageID: "m", BlockIndex: next, Text: "x"}, e)
		next++
	}
	require.Equal(t, n, next)
	require.Zero(t, c.dropped.Load())
}

func TestSessionSwitched(t *testing.T) {
	c, p := newPeer(t, young)
	state := func(id string) {
		p.send(`"type":"notification","method":"droid.session_notification","params":{"sessionId":%q,"notification":{"type":"droid_working_state_changed","newState":"idle"}}`, id)
	}
	idle := stream.WorkingStateChanged{State: stream.StateIdle}
	state("a") // the first is no switch
	require.Equal(t, idle, <-c.Events())
	state("b")
	require.Equal(t, stream.SessionSwitched{From: "a", To: "b"}, <-c.Events())
	require.Equal(t, idle, <-c.Events())
	state("a") // a late event of the old session
	require.Equal(t, idle, <-c.Events())
	state("b")
	require.Equal(t, idle, <-c.Events())

	done := async(func() error { _, err := c.Load(testContext(t), LoadParams{SessionID: "c"}); return err })
	m := p.expect(methodLoad)
	state("c") // asked for
	require.Equal(t, idle, <-c.Events())
	p.reply(m.ID, `{}`)
	require.NoError(t, <-done)
}

// Close interrupts the turn, repeats that once, and closes stdin (quirk 26).
func TestCloseInterrupts(t *testing.T) {
	for name, idleAfter := range map[string]int{"obeys": 1, "loses the first": 2, "ignores": 3} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p := newPeer(t, young)
				c.bounds = defaultBounds
				begin := time.Now()
				sent := async(func() error { return c.AddUserMessage(t.Context(), stream.UserMessage{RequestID: "1"}) })
				p.expect(methodAddUserMessage)
				p.reply("1", `{}`)
				require.NoError(t, <-sent)
				closed := async(func() error { return c.Close(t.Context()) })
				for n := 1; n <= 2 && n <= idleAfter; n++ {
					p.reply(p.expect(methodInterrupt).ID, `{}`)
					if n == idleAfter {
						p.notify(`{"type":"droid_working_state_changed","newState":"idle"}`)
					}
				}
				_, err := p.in.ReadByte()
				require.ErrorIs(t, err, io.EOF, "stdin is closed")
				require.Equal(t, time.Duration(idleAfter-1)*500*time.Millisecond, time.Since(begin))
				require.ErrorIs(t, c.Interrupt(t.Context()), ErrClosed)
				require.ErrorIs(t, c.UpdateSettings(t.Context(), stream.SettingsPatch{}), ErrClosed)
				p.out.Close()
				require.NoError(t, <-closed)
			})
		})
	}
}

// An idle droid is not interrupted. One that answers nothing is given up after
// the bounds.
func TestCloseBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := newPeer(t, young)
		c.bounds = defaultBounds
		learn(c, p)
		begin := time.Now()
		closed := async(func() error { return c.Close(t.Context()) })
		_, err := p.in.ReadByte()
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, <-closed)
		require.Equal(t, c.bounds.eof, time.Since(begin))
	})
	synctest.Test(t, func(t *testing.T) {
		c, p := newPeer(t, young)
		c.bounds = defaultBounds
		p.notify(`{"type":"droid_working_state_changed","newState":"executing_tool"}`)
		<-c.Events()
		begin := time.Now()
		require.NoError(t, c.Close(t.Context())) // it does not even read
		require.Equal(t, c.bounds.interrupt+c.bounds.eof, time.Since(begin))
	})
}

// A client whose stdout cannot be closed reports that.
func TestCloseUnendingStdout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		c := NewClient(struct{ io.Reader }{r}, discard{}, nil)
		require.ErrorContains(t, c.Close(t.Context()), "does not end")
		w.Close()
		<-c.Exited()
	})
}

// A full Events channel without a reader does not block Close.
func TestCloseDropsUnreadEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := newPeer(t, young)
		c.bounds = defaultBounds
		sent := async(func() error {
			for range eventBuffer + 20 {
				p.notify(`{"type":"droid_working_state_changed","newState":"idle"}`)
			}
			return p.out.Close()
		})
		synctest.Wait()
		begin := time.Now()
		require.NoError(t, c.Close(t.Context()))
		require.NoError(t, <-sent)
		require.Equal(t, c.bounds.stall, time.Since(begin))
		require.Equal(t, int64(20), c.dropped.Load())
	})
}

func TestAnswersAfterDeath(t *testing.T) {
	c, p := newPeer(t, young)
	learn(c, p)
	p.out.CloseWithError(errors.New("read failed"))
	within(t, "end", c.Exited())
	var exit *ExitError
	require.ErrorAs(t, c.AnswerQuestions("x", stream.Answers{}), &exit)
	require.Equal(t, &ExitError{Code: -1, Started: true}, exit)
	require.EqualError(t, exit, "droid is gone")
}

// An MCP status concerns the session's servers if it follows the response to the call that opened the session.
func TestMCPStatusOfTheSession(t *testing.T) {
	c, p := newPeer(t, "1.50.0")
	status := func() bool {
		p.notify(`{"type":"mcp_status_changed","servers":[]}`)
		return (<-c.Events()).(stream.MCPStatusChanged).Opened
	}
	open := func(method string, call func() error, answer func(id string)) {
		done := async(call)
		m := p.expect(method)
		require.False(t, status())
		answer(m.ID)
		<-done
	}
	load := func() error {
		_, err := c.Load(context.Background(), LoadParams{SessionID: "s"})
		return err
	}
	require.False(t, status(), "of a droid that was started ahead")
	open(methodLoad, load, func(id string) { p.refuse(`"`+id+`"`, -32603, "no") })
	require.False(t, status())
	open(methodInitialize, func() error {
		_, err := c.Initialize(context.Background(), InitializeParams{CWD: "/", MachineID: "m"})
		return err
	}, func(id string) { p.reply(id, `{"sessionId":"s"}`) })
	require.True(t, status())
	open(methodLoad, load, func(id string) { p.reply(id, `{}`) })
	require.True(t, status())
}
