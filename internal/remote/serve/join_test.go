package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
)

// asks requests a permission with the remaining params.
func (a *fakeAgent) asks(session, rest string) {
	a.say(`{"jsonrpc":"2.0","id":77,"method":"session/request_permission","params":{"sessionId":%q,%s}}`, session, rest)
}

// last returns the client's last message, and discards the others.
func (c *fakeClient) last() (m rpcMessage) {
	c.t.Helper()
	c.mu.Lock()
	line := c.heard[len(c.heard)-1]
	c.mu.Unlock()
	c.take()
	require.NoError(c.t, json.Unmarshal([]byte(line), &m))
	return m
}

// A question's ID is that of no other, also of an earlier server: a client may still show that one's question when it connects again.
func TestQuestionIDs(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		withServer(t, func(t *testing.T, h *testServer) {
			c, a := h.client("Zed", everything)
			c.opens(a, "s1")
			a.asksPermission("s1")
			seen[fmt.Sprint(c.last().ID)] = true
		})
	}
	require.Len(t, seen, 2)
}

// A question that the agent cancels is closed, even if a client does not answer the cancel.
func TestQuestionIsTakenBack(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		prompt := c.prompts(a, "s1", "go")
		a.asksPermission("s1")
		question := c.take()
		id, _, _ := strings.Cut(question[0], "?")
		a.say(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":77}}`)
		require.Equal(t, codeCancelled, a.next().Error.Code)
		require.Equal(t, []string{"cancel " + id}, c.take())
		c.say(`{"jsonrpc":"2.0","id":%q,"result":{"outcome":{"outcome":"cancelled"}}}`, id)
		a.hearsNothing()
		a.answer(prompt, `{"stopReason":"cancelled"}`)
		c.take()
		require.Equal(t, Idle, h.Status().Sessions[0].State)
	})
}

// A client that drops updates outside its own prompts gets them, and open questions, with its next prompt; if it loads a working session,
// it gets a notice.
func TestClientIgnoringUpdatesOutsidePrompt(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		prompt := one.prompts(a, "s1", "go")
		a.chunk("s1", "one")
		one.Disconnected()
		two, _ := h.client("CodeCompanion.nvim", "{}")
		two.load("s1")
		got := two.take()
		require.Len(t, got, 4)
		require.Equal(t, []string{"user: go", "agent: one"}, got[:2])
		require.Contains(t, got[2], "**A turn still runs here.** This client")
		require.Contains(t, got[3], "l= ")

		a.chunk("s1", "two")
		a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"session_info_update","title":"T"}}}`)
		a.asksPermission("s1")
		require.Equal(t, []string{"session_info_update null"}, two.take(), "which it takes at any time")
		require.Equal(t, Asking, h.Status().Sessions[0].State)

		beside, _ := h.client("CodeCompanion.nvim", "{}")
		beside.load("s1")
		require.Contains(t, strings.Join(beside.take(), "\n"), "**A turn still runs here, and asks:** `make`. This client")
		beside.Disconnected()
		more := two.prompts(a, "s1", "more")
		got = two.take()
		require.Len(t, got, 2)
		require.Equal(t, "agent: two", got[0])
		require.Contains(t, got[1], "request_permission")
		id, _, _ := strings.Cut(got[1], "?")
		two.say(`{"jsonrpc":"2.0","id":%q,"result":%s}`, id, allowed)
		require.EqualValues(t, 77, a.next().ID)
		a.chunk("s1", "three")
		a.answer(prompt, `{"stopReason":"end_turn"}`)
		require.Equal(t, []string{"agent: three", `session_info_update {"droid-acp":{"stopReason":"end_turn"}}`, "agent: \n\n---\n\n"}, two.take(), "its own answer stands apart")
		a.answer(more, `{"stopReason":"end_turn"}`)
		require.Equal(t, []string{`p= {"stopReason":"end_turn"}`}, two.take())

		three, _ := h.client("Zed", everything)
		three.load("s1")
		three.take()
		again := three.prompts(a, "s1", "again")
		a.chunk("s1", "four")
		a.answer(again, `{"stopReason":"end_turn"}`)
		require.Equal(t, []string{`session_info_update {"droid-acp":{"stopReason":"end_turn"}}`}, two.take())
		two.prompts(a, "s1", "last")
		require.Equal(t, []string{"agent: \n\n**Zed:** again\n\n", "agent: four", "agent: \n\n---\n\n"}, two.take())
	})
}

// The agent of such a client is informed that the server handles this: it does not withhold updates from other clients.
func TestAgentOfClientIgnoringUpdatesOutsidePrompt(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		for name, drops := range map[string]bool{"CodeCompanion.nvim": true, "vscode-acp-client": true, "Zed": false} {
			c := &fakeClient{t: h.t}
			c.Client = h.Join(c, ClientOptions{Local: true, From: "socket"})
			c.say(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":%q,"version":"1"},"clientCapabilities":{"_meta":{"x":true},"plan":{}}}}`, name)
			c.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w"}}`)
			agents := h.agents()
			asked := agents[len(agents)-1].greeted()
			info, _ := json.Marshal(asked.Params["clientInfo"])
			raw, _ := json.Marshal(asked.Params["clientCapabilities"])
			caps := protocol.ParseCapabilities(raw, info)
			require.False(t, caps.UpdatesInPromptsOnly())
			require.True(t, caps.Plans)
			require.Equal(t, drops, caps.HidesResults, "all else is as it was")
			require.Equal(t, drops, strings.Contains(string(raw), "shared"))
			require.Contains(t, string(raw), `"x":true`)
			require.True(t, caps.Activity)
			require.Equal(t, []string{`i= {"protocolVersion":1}`}, c.take())
		}
	})
}

// The prompts of such a client keep their order while missed updates are replayed.
func TestPromptsWaitForMissedUpdates(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		two, _ := h.client("CodeCompanion.nvim", "{}")
		two.load("s1")
		two.take()
		a.chunk("s1", "missed")
		for _, id := range []string{"p1", "p2"} {
			two.say(`{"jsonrpc":"2.0","id":%q,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":%[1]q}]}}`, id)
		}
		for _, id := range []string{"p1", "p2"} {
			require.Contains(t, fmt.Sprint(a.next().Params["prompt"]), id)
		}
		require.Equal(t, []string{"agent: missed", "agent: \n\n---\n\n"}, two.take())
		require.Equal(t, []string{"agent: missed", "user: p1", "user: p2"}, one.take())
	})
}

// A client that treats another client's prompt as an error gets it as a message.
func TestPromptOfAnotherClient(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		two, _ := h.client("agent-shell", "{}")
		two.load("s1")
		two.take()
		watching, _ := h.client("Zed", everything)
		watching.load("s1")
		watching.take()
		one.say(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"look\nhere"},{"type":"image","data":"","mimeType":"image/png"}]}}`)
		prompt := a.next()
		a.works("s1", true)
		watching.mu.Lock()
		require.Contains(t, watching.heard[0], `"_meta":{"droid-acp":{"client":"Zed"}}`)
		watching.mu.Unlock()
		require.Equal(t, []string{"agent: \n\n**Zed:** look\nhere\n\n", "agent: \n\n**Zed:** [image]\n\n"}, two.take())
		three, _ := h.client("agent-shell", "{}")
		three.say(`{"jsonrpc":"2.0","id":"r","method":"session/resume","params":{"sessionId":"s1","cwd":"/w"}}`)
		require.Equal(t, []string{`r= {"modes":{"currentModeId":"off","availableModes":[]}}`, "agent: \n\n**Zed:** look\nhere\n\n", "agent: \n\n**Zed:** [image]\n\n"}, three.take())
		three.load("s1")
		require.Equal(t, "user: look\nhere", three.take()[0], "while it loads it shows it")
		a.answer(prompt, `{"stopReason":"end_turn"}`)
	})
}

// A client that resumes a working session gets the running turn, and nothing before it.
func TestRunningTurnIsResumed(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		first := one.prompts(a, "s1", "first")
		a.chunk("s1", "before")
		a.answer(first, `{"stopReason":"end_turn"}`)
		second := one.prompts(a, "s1", "second")
		a.chunk("s1", "one")
		one.Disconnected()
		a.chunk("s1", "two")
		a.asksPermission("s1")
		two, _ := h.client("Zed", everything)
		resume := func() {
			two.say(`{"jsonrpc":"2.0","id":"r","method":"session/resume","params":{"sessionId":"s1","cwd":"/w"}}`)
		}
		const result = `r= {"modes":{"currentModeId":"off","availableModes":[]}}`
		resume()
		got := two.take()
		require.Equal(t, []string{result, "user: second", "agent: one", "agent: two"}, got[:4])
		require.Contains(t, got[4], "request_permission")
		resume()
		require.Equal(t, []string{result}, two.take(), "it has it")
		id, _, _ := strings.Cut(got[4], "?")
		two.say(`{"jsonrpc":"2.0","id":%q,"result":%s}`, id, allowed)
		require.EqualValues(t, 77, a.next().ID)
		a.answer(second, `{"stopReason":"end_turn"}`)
		three, _ := h.client("Zed", everything)
		three.say(`{"jsonrpc":"2.0","id":"r","method":"session/resume","params":{"sessionId":"s1","cwd":"/w"}}`)
		require.Equal(t, []string{result}, three.take(), "nothing runs")
	})
}

// A client that acts on an option's kind, and shows titles only, gets the content as a message, no two options of a kind that allows
// something, and the first of those that refuse.
func TestQuestionOfAnotherClientsAgent(t *testing.T) {
	const rest = `"toolCall":{"toolCallId":"t","title":"Edit a.txt","content":[{"type":"content","content":{"type":"text","text":"Risk: low"}},{"type":"diff","path":"/w/a.txt","oldText":"one\n","newText":"two\n"}]},` +
		`"options":[{"optionId":"o","kind":"allow_once","name":"Yes"},{"optionId":"l","kind":"allow_always","name":"Low"},{"optionId":"h","kind":"allow_always","name":"High"},` +
		`{"optionId":"n","kind":"reject_once","name":"No"},{"optionId":"m","kind":"reject_once","name":"Never"}]`
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		two, own := h.client("avante-like", "{}") // known only by its name
		two.load("s1")
		by, _ := h.client("Agentic.nvim", "{}")
		by.load("s1")
		byKind, _ := h.client("CodeCompanion.nvim", "{}")
		byKind.load("s1")
		for _, c := range []*fakeClient{two, by, byKind} {
			c.take()
		}
		a.answer(byKind.prompts(a, "s1", "go"), `{"stopReason":"end_turn"}`)
		going := byKind.prompts(a, "s1", "on")
		for _, c := range []*fakeClient{one, two, by, byKind} {
			c.take()
		}
		a.asks("s1", rest)
		require.Len(t, one.take(), 1, "its own agent knows what it shows")
		require.Len(t, two.take(), 1)
		const told = "agent: \n\n`Edit a.txt`\n\nRisk: low\n\n`/w/a.txt`\n\n```diff\n@@ -1 +1 @@\n-one\n+two\n```\n\n"
		got := by.take()
		require.Equal(t, told, got[0], "it shows no diffs, and no content of a request")
		byKind.mu.Lock()
		heard := strings.Join(byKind.heard, "\n")
		byKind.mu.Unlock()
		require.Contains(t, heard, "cannot be chosen here, since this client is not known to show what choices are called: Low, High.")
		var ids []string
		for _, o := range byKind.last().Params["options"].([]any) {
			ids = append(ids, o.(map[string]any)["optionId"].(string))
		}
		require.Equal(t, []string{"o", "n"}, ids)
		own.hearsNothing()
		a.answer(going, `{"stopReason":"end_turn"}`)
	})
}

// Options that only their names distinguish are not offered to a client that may not show names.
func TestQuestionDistinguishedByNamesOnly(t *testing.T) {
	const rest = `"toolCall":{"toolCallId":"trust-1","title":"Trust this project?","_meta":{"droid-acp":{"namesOnly":true}}},` +
		`"options":[{"optionId":"n","kind":"allow_once","name":"Not now"},{"optionId":"y","kind":"allow_once","name":"Trust"},{"optionId":"c","kind":"reject_once","name":"Cancel"}]`
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("zed", everything)
		one.opens(a, "s1")
		for name, want := range map[string]string{"agent-shell": "nyc", "droid-acp attach": "nyc", "JetBrains.IDEA": "c", "CodeCompanion.nvim": "c"} {
			two, _ := h.client(name, "{}")
			two.load("s1")
			two.take()
			prompt := two.prompts(a, "s1", "go")
			two.take()
			a.asks("s1", rest)
			var ids strings.Builder
			for _, o := range two.last().Params["options"].([]any) {
				ids.WriteString(o.(map[string]any)["optionId"].(string))
			}
			require.Equal(t, want, ids.String(), name)
			a.say(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":77}}`)
			a.next()
			a.answer(prompt, `{"stopReason":"end_turn"}`)
			two.Disconnected()
		}
	})
}

// What a client sends behind a prompt that waits here comes behind it, also what cancels it.
func TestCancelBehindAPromptThatWaits(t *testing.T) {
	heard := func(a *fakeAgent) (methods []string) {
		synctest.Wait()
		for len(a.lines) > 0 {
			methods = append(methods, a.next().Method)
		}
		return methods
	}
	const prompt = `{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"hi"}]}}`
	t.Run("for what the client has missed", func(t *testing.T) {
		withServer(t, func(t *testing.T, h *testServer) {
			one, a := h.client("Zed", everything)
			one.opens(a, "s1")
			two, _ := h.client("CodeCompanion.nvim", "{}")
			two.load("s1")
			two.take()
			a.chunk("s1", "missed")
			full := make(chan struct{})
			two.full = full
			two.say(prompt)
			two.say(`{"jsonrpc":"2.0","id":"m","method":"session/set_mode","params":{"sessionId":"s1","modeId":"high"}}`)
			two.say(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
			two.say(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"p"}}`)
			two.full = nil
			close(full)
			require.Equal(t, []string{"session/prompt", "session/set_mode", "session/cancel", "$/cancel_request"}, heard(a))
		})
	})
	t.Run("for a load", func(t *testing.T) {
		withServer(t, func(t *testing.T, h *testServer) {
			one, a := h.client("Zed", everything)
			one.load("s1")
			loading := a.next()
			one.say(prompt)
			one.say(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"p"}}`)
			a.hearsNothing()
			a.answer(loading, `{}`)
			require.Equal(t, []string{"session/prompt", "$/cancel_request"}, heard(a))
		})
	})
	t.Run("for one of many loads", func(t *testing.T) {
		withServer(t, func(t *testing.T, h *testServer) {
			one, a := h.client("Zed", everything)
			var loads []rpcMessage
			for i := range 20 {
				one.load(fmt.Sprint("t", i))
				loads = append(loads, a.next())
			}
			one.load("s1")
			loads = append(loads, a.next())
			one.say(prompt)
			one.say(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"p"}}`)
			for _, m := range loads {
				a.answer(m, `{}`)
			}
			require.Equal(t, []string{"session/prompt", "$/cancel_request"}, heard(a))
			require.Zero(t, one.Client.queuedBytes)
		})
	})
}
