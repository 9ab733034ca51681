package serve

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// nextServer returns a server on the current disk, as after a SIGKILL of h.
func (h *testServer) nextServer() *testServer {
	h.t.Helper()
	synctest.Wait()
	next := &testServer{t: h.t}
	o := h.Options
	o.Journals = filepath.Join(h.t.TempDir(), "journals")
	require.NoError(h.t, os.Rename(h.Journals, o.Journals))
	o.start, o.startQueryAgent = next.start, next.startQueryAgent
	var err error
	next.Server, err = New(o)
	require.NoError(h.t, err)
	return next
}

// keptFiles returns the names of the kept journals.
func (h *testServer) keptFiles() (names []string) {
	h.t.Helper()
	_ = filepath.WalkDir(filepath.Join(h.Journals, unfinishedDir), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, err := d.Info()
			require.NoError(h.t, err)
			require.EqualValues(h.t, 0o600, info.Mode().Perm())
			names = append(names, path)
		}
		return nil
	})
	return names
}

const unfinishedHead = "agent: \n\n**Unfinished:** this turn ended with its server or agent. droid has not stored this part of it:\n\n"

// The agent's text in a turn whose server was killed is shown once, by the next load, as far as the agent has not stored it.
func TestAnswerOutlivesTheServer(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		prompt := c.prompts(a, "s1", "first")
		a.chunk("s1", "That is done.")
		a.answer(prompt, `{"stopReason":"end_turn"}`)
		c.prompts(a, "s1", "go")
		a.chunk("s1", "I look.")
		a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"t1","title":"Read a","status":"pending"}}}`)
		a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed"}}}`)
		a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm."}}}}`)
		a.chunk("s1", "That is ")
		a.chunk("s1", "done.")
		a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"t2","title":"make","status":"in_progress"}}}`)

		next := h.nextServer()
		defer func() {
			next.Server.Close(context.Background())
			require.NoDirExists(t, next.Journals)
		}()
		c, a = next.client("Zed", everything)
		c.say(`{"jsonrpc":"2.0","id":"r","method":"session/resume","params":{"sessionId":"s1","cwd":"/w"}}`)
		a.answer(a.next(), `{}`)
		require.Equal(t, []string{`r= {}`}, c.take())
		next.Server.Close(context.Background())
		next = next.nextServer() // a session that was only resumed stays
		c, a = next.client("Zed", everything)
		c.say(`{"jsonrpc":"2.0","id":"r","method":"session/resume","params":{"sessionId":"s1","cwd":"/w"}}`)
		a.answer(a.next(), `{}`)
		c.prompts(a, "s1", "more")
		a.exit()
		synctest.Wait()
		require.Len(t, next.keptFiles(), 2)
		next.Server.Close(context.Background())
		next = next.nextServer()
		c, a = next.client("Zed", everything)
		c.load("s1")
		loading := a.next()
		replay := []string{"first", "That is done.", "go", "I look."}
		for i, text := range replay {
			kind := []string{"user", "agent"}[i%2]
			a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"%s_message_chunk","content":{"type":"text","text":%q}}}}`, kind, text)
		}
		a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"t1","title":"Read a","status":"completed"}}}`)
		a.say(`{"jsonrpc":"2.0","id":%v,"result":{}}`+"\n"+`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"behind it"}}}}`, loading.ID)
		require.Equal(t, []string{unfinishedHead + "That is done.\n\n- `make`\n\n> more\n\n", `l= {}`, "agent: behind it"}, c.take()[5:])
		require.Empty(t, next.keptFiles())
		c.load("s1")
		a.answer(a.next(), `{}`)
		require.Equal(t, []string{`l= {}`}, c.take(), "it was shown")
	})
}

// A turn is unfinished while the session works and no prompt of it was answered, whatever began it. Earlier messages are not part of it.
func TestTurnsWithoutAnEnd(t *testing.T) {
	steer := func(c *fakeClient, a *fakeAgent, outcome string) {
		c.say(`{"jsonrpc":"2.0","id":"s","method":"_session/steering","params":{"sessionId":"s1","prompt":[{"type":"text","text":"also this"}]}}`)
		a.answer(a.next(), `{"outcome":"`+outcome+`"}`)
	}
	ends := func(a *fakeAgent, prompt message) {
		a.say(`{"jsonrpc":"2.0","id":%v,"result":{"stopReason":"cancelled"}}`, prompt.ID)
	} // and the session still works
	for name, row := range map[string]struct {
		play   func(c *fakeClient, a *fakeAgent)
		stored []string
		want   string
	}{
		"of its own": {func(_ *fakeClient, a *fakeAgent) { a.works("s1", true); a.chunk("s1", "I woke up.") }, nil, "I woke up.\n\n"},
		"of its own, stored but for the last message": {func(_ *fakeClient, a *fakeAgent) {
			a.works("s1", true)
			a.chunk("s1", "I woke up.")
			a.says("s1", "m2", "I look")
		}, []string{"I woke up."}, "I look\n\n"},
		"of its own, ended": {func(_ *fakeClient, a *fakeAgent) {
			a.works("s1", true)
			a.chunk("s1", "I woke up.")
			a.works("s1", false)
		}, nil, ""},
		"steered": {func(c *fakeClient, a *fakeAgent) {
			steer(c, a, "startedNewTurn")
			a.works("s1", true)
			a.chunk("s1", "one")
		}, nil, "> also this\n\none\n\n"},
		"steered, ended": {func(c *fakeClient, a *fakeAgent) {
			steer(c, a, "startedNewTurn")
			a.works("s1", true)
			a.chunk("s1", "one")
			a.works("s1", false)
		}, nil, ""},
		"steered in a turn": {func(c *fakeClient, a *fakeAgent) {
			c.prompts(a, "s1", "go")
			a.chunk("s1", "one")
			steer(c, a, "injected")
			a.says("s1", "m2", "two")
		}, []string{"go"}, "one\n\n> also this\n\ntwo\n\n"},
		"ended, but for a background command": {func(c *fakeClient, a *fakeAgent) {
			prompt := c.prompts(a, "s1", "go")
			a.chunk("s1", "one")
			ends(a, prompt)
		}, nil, ""},
		"of its own, behind one that ended": {func(c *fakeClient, a *fakeAgent) {
			prompt := c.prompts(a, "s1", "go")
			a.chunk("s1", "one")
			ends(a, prompt)
			a.says("s1", "m2", "two")
		}, nil, "two\n\n"},
		"none, though something was said": {func(c *fakeClient, a *fakeAgent) {
			a.answer(c.prompts(a, "s1", "go"), `{"stopReason":"end_turn"}`)
			a.chunk("s1", "by the way")
		}, nil, ""},
		"none since the load": {func(c *fakeClient, a *fakeAgent) {
			c.load("s1")
			loading := a.next()
			a.chunk("s1", "rewound since")
			a.answer(loading, `{}`)
		}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			withServer(t, func(t *testing.T, h *testServer) {
				c, a := h.client("Zed", everything)
				c.opens(a, "s1")
				row.play(c, a)
				next := h.nextServer()
				c, a = next.client("Zed", everything)
				c.load("s1")
				loading := a.next()
				for _, text := range row.stored {
					kind := "agent"
					if text == "go" {
						kind = "user"
					}
					a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"%s_message_chunk","content":{"type":"text","text":%q}}}}`, kind, text)
				}
				a.answer(loading, `{}`)
				want := []string{`l= {}`}
				if row.want != "" {
					want = []string{unfinishedHead + row.want, `l= {}`}
				}
				require.Equal(t, want, c.take()[len(row.stored):])
				next.Server.Close(context.Background())
			})
		})
	}
}

// says sends a message chunk with an ID.
func (a *fakeAgent) says(session, id, text string) {
	a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"agent_message_chunk","messageId":%q,"content":{"type":"text","text":%q}}}}`, session, id, text)
}

// A joining client does not get the marks of a turn.
func TestMarksOfATurnStayInTheJournal(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		a.works("s1", true)
		a.chunk("s1", "one")
		two, _ := h.client("Zed", everything)
		two.load("s1")
		require.Equal(t, []string{"agent: one", `l= {"modes":{"currentModeId":"off","availableModes":[]}}`}, two.take())
	})
}

// The same holds if the agent or the server ends during a turn; the agent has the content of ended turns.
func TestAnswerOutlivesTheAgent(t *testing.T) {
	for name, end := range map[string]func(h *testServer, a *fakeAgent, prompt message){
		"the agent ends":   func(_ *testServer, a *fakeAgent, _ message) { a.exit(); synctest.Wait() },
		"the server stops": func(h *testServer, _ *fakeAgent, _ message) { h.Server.Close(context.Background()) },
		"it answers at the end": func(h *testServer, a *fakeAgent, prompt message) {
			h.mu.Lock()
			for agent := range h.Server.agents {
				agent.end()
			}
			h.mu.Unlock()
			a.exitLater()
			a.answer(prompt, `{"stopReason":"cancelled"}`)
			h.Server.Close(context.Background())
		},
		"it rests at the end": func(h *testServer, a *fakeAgent, _ message) {
			h.mu.Lock()
			for agent := range h.Server.agents {
				agent.end()
			}
			h.mu.Unlock()
			a.exitLater()
			a.works("s1", false)
			h.Server.Close(context.Background())
		},
	} {
		t.Run(name, func(t *testing.T) {
			withServer(t, func(t *testing.T, h *testServer) {
				c, a := h.client("Zed", everything)
				c.opens(a, "s1")
				c.opens(a, "s2")
				a.answer(c.prompts(a, "s2", "go"), `{"stopReason":"end_turn"}`)
				prompt := c.prompts(a, "s1", "go")
				a.chunk("s1", "one")
				if strings.HasSuffix(name, "at the end") {
					a.stubborn = true
				}
				end(h, a, prompt)
				next := h.nextServer()
				require.Len(t, next.keptFiles(), 1)
				c, a = next.client("Zed", everything)
				c.load("s1")
				a.answer(a.next(), `{}`)
				require.Equal(t, []string{unfinishedHead + "> go\n\none\n\n", `l= {}`}, c.take())
				next.Server.Close(context.Background())
			})
		})
	}
}

// exitLater makes the agent exit after its next message.
func (a *fakeAgent) exitLater() { time.AfterFunc(time.Second, a.exit) }

// An incomplete line is skipped; an unreadable journal is reported.
func TestUnfinishedIsBroken(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		c.prompts(a, "s1", "go")
		a.chunk("s1", "one")
		cur := h.nextServer()
		path := cur.keptFiles()[0]
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		whole := string(text)
		loads := func() []string {
			cur = cur.nextServer()
			c, a = cur.client("Zed", everything)
			c.load("s1")
			a.answer(a.next(), `{}`)
			defer cur.Server.Close(context.Background())
			return c.take()
		}
		for cut, want := range map[string]string{
			whole + whole[strings.LastIndex(whole[:len(whole)-1], "\n")+1:len(whole)-2]: "> go\n\none\n\n",
			whole[:len(whole)-2]:         "> go\n\n",
			whole + "noise\n{}\n\xff[\n": "> go\n\none\n\n",
		} {
			require.NoError(t, os.MkdirAll(filepath.Join(cur.Journals, unfinishedDir), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(cur.Journals, unfinishedDir, filepath.Base(path)), []byte(cut), 0o600))
			require.Equal(t, []string{unfinishedHead + want, `l= {}`}, loads())
		}
		require.NoError(t, os.MkdirAll(filepath.Join(cur.Journals, unfinishedDir, filepath.Base(path)), 0o700))
		require.Contains(t, loads()[0], "agent: What was said here in a turn without an end cannot be shown: read ")
	})
}

// Of a turn longer than a journal the end is shown, in order.
func TestLongTurnOutlivesTheServer(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		h.journalSize = 4000
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		c.prompts(a, "s1", "go")
		for i := range 100 {
			a.chunk("s1", fmt.Sprintf("%03d ", i))
		}
		next := h.nextServer()
		require.Len(t, next.keptFiles(), 2)
		c, a = next.client("Zed", everything)
		c.load("s1")
		loading := a.next()
		a.chunk("s1", "before")
		a.answer(loading, `{}`)
		got := c.take()
		require.Len(t, got, 3)
		text := strings.TrimSpace(strings.TrimPrefix(got[1], unfinishedHead))
		require.True(t, strings.HasSuffix(text, "098 099"), text)
		require.Greater(t, len(text), 40)
		require.True(t, slices.IsSorted(strings.Fields(text)), text)
		next.Server.Close(context.Background())
	})
}

// Kept journals are bounded in size and age, and removed with their session.
func TestUnfinishedIsBounded(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		h.unfinishedSize = 2500
		c, a := h.client("Zed", everything)
		for i := range 4 {
			id := fmt.Sprintf("s%d", i)
			c.opens(a, id)
			c.prompts(a, id, "go")
			a.chunk(id, strings.Repeat("x", 500))
			c.take()
		}
		next := h.nextServer()
		require.Len(t, next.keptFiles(), 2)
		old := time.Now().Add(-unfinishedTime - time.Hour)
		require.NoError(t, os.Chtimes(next.keptFiles()[0], old, old))
		next = next.nextServer()
		require.Len(t, next.keptFiles(), 1)
		c, a = next.client("Zed", everything)
		for i := range 4 {
			c.say(`{"jsonrpc":"2.0","id":"d","method":"session/delete","params":{"sessionId":"s%d"}}`, i)
			look := next.lastQueryAgent()
			look.answer(look.next(), `{}`)
		}
		synctest.Wait()
		require.Empty(t, next.keptFiles())
		c.take()
		c.opens(a, "s5")
		c.prompts(a, "s5", "go")
		c.say(`{"jsonrpc":"2.0","id":"d","method":"session/delete","params":{"sessionId":"s5"}}`)
		a.answer(a.next(), `{}`)
		synctest.Wait()
		require.Empty(t, next.keptFiles(), "also while a turn runs in it")
		next.Server.Close(context.Background())
	})
}
