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

// nextServer is a server on what is on the disk now, as after a SIGKILL of h.
func (h *house) nextServer() *house {
	h.t.Helper()
	synctest.Wait()
	next := &house{t: h.t}
	o := h.Options
	o.Journals = filepath.Join(h.t.TempDir(), "journals")
	require.NoError(h.t, os.Rename(h.Journals, o.Journals))
	o.start, o.look = next.start, next.look
	var err error
	next.Server, err = New(o)
	require.NoError(h.t, err)
	return next
}

// leftFiles are the files with what was said in turns without an end.
func (h *house) leftFiles() (names []string) {
	h.t.Helper()
	_ = filepath.WalkDir(filepath.Join(h.Journals, leftDir), func(path string, d fs.DirEntry, err error) error {
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

// What an agent had said in a turn whose server was killed is shown by the next load, as far as the agent has not
// stored it, and once.
func TestAnswerOutlivesTheServer(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
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
		next = next.nextServer() // what was only resumed stays
		c, a = next.client("Zed", everything)
		c.say(`{"jsonrpc":"2.0","id":"r","method":"session/resume","params":{"sessionId":"s1","cwd":"/w"}}`)
		a.answer(a.next(), `{}`)
		c.prompts(a, "s1", "more")
		a.exit()
		synctest.Wait()
		require.Len(t, next.leftFiles(), 2)
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
		require.Empty(t, next.leftFiles())
		c.load("s1")
		a.answer(a.next(), `{}`)
		require.Equal(t, []string{`l= {}`}, c.take(), "it was shown")
	})
}

// So it is when the agent ends, or the server does in the middle of a turn; what a turn that ended has, the agent has.
func TestAnswerOutlivesTheAgent(t *testing.T) {
	for name, end := range map[string]func(h *house, a *fakeAgent, prompt message){
		"the agent ends":   func(_ *house, a *fakeAgent, _ message) { a.exit(); synctest.Wait() },
		"the server stops": func(h *house, _ *fakeAgent, _ message) { h.Server.Close(context.Background()) },
		"it answers at the end": func(h *house, a *fakeAgent, prompt message) {
			h.mu.Lock()
			for agent := range h.Server.agents {
				agent.end()
			}
			h.mu.Unlock()
			a.exitLater()
			a.answer(prompt, `{"stopReason":"cancelled"}`)
			h.Server.Close(context.Background())
		},
	} {
		t.Run(name, func(t *testing.T) {
			inHouse(t, func(t *testing.T, h *house) {
				c, a := h.client("Zed", everything)
				c.opens(a, "s1")
				c.opens(a, "s2")
				a.answer(c.prompts(a, "s2", "go"), `{"stopReason":"end_turn"}`)
				prompt := c.prompts(a, "s1", "go")
				a.chunk("s1", "one")
				if name == "it answers at the end" {
					a.stubborn = true
				}
				end(h, a, prompt)
				next := h.nextServer()
				require.Len(t, next.leftFiles(), 1)
				c, a = next.client("Zed", everything)
				c.load("s1")
				a.answer(a.next(), `{}`)
				require.Equal(t, []string{unfinishedHead + "> go\n\none\n\n", `l= {}`}, c.take())
				next.Server.Close(context.Background())
			})
		})
	}
}

// exitLater has the agent end when it has said what it says.
func (a *fakeAgent) exitLater() { time.AfterFunc(time.Second, a.exit) }

// A line that was not written whole is left out; what cannot be read is told.
func TestWhatIsLeftIsBroken(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		c.prompts(a, "s1", "go")
		a.chunk("s1", "one")
		cur := h.nextServer()
		path := cur.leftFiles()[0]
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
			whole + whole[:len(whole)/2]: "> go\n\none\n\n",
			whole[:len(whole)-2]:         "> go\n\n",
			whole + "noise\n{}\n\xff[\n": "> go\n\none\n\n",
		} {
			require.NoError(t, os.MkdirAll(filepath.Join(cur.Journals, leftDir), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(cur.Journals, leftDir, filepath.Base(path)), []byte(cut), 0o600))
			require.Equal(t, []string{unfinishedHead + want, `l= {}`}, loads())
		}
		require.NoError(t, os.MkdirAll(filepath.Join(cur.Journals, leftDir, filepath.Base(path)), 0o700))
		require.Contains(t, loads()[0], "agent: What was said here in a turn without an end cannot be shown: read ")
	})
}

// Of a turn that is longer than a journal the end is shown, in order.
func TestLongTurnOutlivesTheServer(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.journalSize = 4000
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		c.prompts(a, "s1", "go")
		for i := range 100 {
			a.chunk("s1", fmt.Sprintf("%03d ", i))
		}
		next := h.nextServer()
		require.Len(t, next.leftFiles(), 2)
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

// What is left is bounded in size and age, and goes with its session.
func TestWhatIsLeftIsBounded(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.leftSize = 2500
		c, a := h.client("Zed", everything)
		for i := range 4 {
			id := fmt.Sprintf("s%d", i)
			c.opens(a, id)
			c.prompts(a, id, "go")
			a.chunk(id, strings.Repeat("x", 500))
			c.take()
		}
		next := h.nextServer()
		require.Len(t, next.leftFiles(), 2)
		old := time.Now().Add(-leftTime - time.Hour)
		require.NoError(t, os.Chtimes(next.leftFiles()[0], old, old))
		next = next.nextServer()
		require.Len(t, next.leftFiles(), 1)
		c, a = next.client("Zed", everything)
		for i := range 4 {
			c.say(`{"jsonrpc":"2.0","id":"d","method":"session/delete","params":{"sessionId":"s%d"}}`, i)
			look := next.lastLook()
			look.answer(look.next(), `{}`)
		}
		synctest.Wait()
		require.Empty(t, next.leftFiles())
		c.take()
		c.opens(a, "s5")
		c.prompts(a, "s5", "go")
		c.say(`{"jsonrpc":"2.0","id":"d","method":"session/delete","params":{"sessionId":"s5"}}`)
		a.answer(a.next(), `{}`)
		synctest.Wait()
		require.Empty(t, next.leftFiles(), "also while a turn runs in it")
		next.Server.Close(context.Background())
	})
}
