package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// world is a server with clients and agents that act at random.
type world struct {
	*testServer
	rng     *rand.Rand
	clients []*actor
	asked   map[any]string // open requests of agents, by agent and ID
	told    map[*session][]string
	said    int
}

// actor is a client that records its requests and updates.
type actor struct {
	*fakeClient
	last   int
	open   map[string]bool // its unanswered requests
	asked  []string        // questions that it may answer
	seen   map[string][]string
	at     map[string]bool   // sessions that it has opened
	loads  map[string]string // the request that loads a session
	whole  map[string]bool   // whether that request replays everything
	early  map[string]bool   // whether it was sent during a replay
	absent bool
}

func (w *world) join(capabilities string) {
	c := &fakeClient{t: w.t}
	c.Client = w.Join(c, ClientOptions{Role: Full})
	a := &actor{fakeClient: c, open: map[string]bool{}, seen: map[string][]string{}, at: map[string]bool{}, loads: map[string]string{}, whole: map[string]bool{}, early: map[string]bool{}}
	w.clients = append(w.clients, a)
	name := []string{"Zed", "Zed", "CodeCompanion.nvim", "agent-shell"}[w.rng.Intn(4)]
	a.asks("initialize", fmt.Sprintf(`{"clientInfo":{"name":%q},"clientCapabilities":%s}`, name, capabilities))
}

func (a *actor) asks(method, params string) {
	a.last++
	id := fmt.Sprint("c", a.last)
	a.open[id] = true
	a.say(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`, id, method, params)
}

// hears handles the messages that a client got.
func (w *world) hears(a *actor) {
	a.mu.Lock()
	heard := a.heard
	a.heard = nil
	a.mu.Unlock()
	for _, line := range heard {
		var m rpcMessage
		require.NoError(w.t, json.Unmarshal([]byte(line), &m), line)
		id := fmt.Sprint(m.ID)
		switch {
		case m.Method == "session/update":
			session := m.Params["sessionId"].(string)
			if text := m.short(); strings.HasPrefix(text, "agent: n") {
				a.seen[session] = append(a.seen[session], text)
			}
		case m.Method == cancelRequest:
			a.asked = slices.DeleteFunc(a.asked, func(q string) bool { return q == m.Params["requestId"] })
		case m.Method != "":
			a.asked = append(a.asked, id)
		default:
			require.True(w.t, a.open[id], "an answer that nobody waits for: %s", line)
			delete(a.open, id)
		}
	}
}

// acts makes an agent answer all its requests, or ask, or send something. One that has ended does nothing.
func (w *world) acts(a *fakeAgent, sessions []string) {
	for {
		select {
		case <-a.exited:
			return
		default:
		}
		select {
		case line := <-a.lines:
			var m rpcMessage
			require.NoError(w.t, json.Unmarshal([]byte(line), &m))
			key := fmt.Sprintf("%p %v", a, m.ID)
			switch {
			case m.Method == "" && m.ID != nil:
				require.Contains(w.t, w.asked, key, "answered twice: %s", line)
				delete(w.asked, key)
			case m.ID == nil:
			case m.Method == "session/new":
				w.said++
				a.answer(m, fmt.Sprintf(`{"sessionId":"m%d"}`, w.said))
			case m.Method == "session/load":
				w.mu.Lock()
				delete(w.told, w.sessions[m.Params["sessionId"].(string)]) // the journal is reset
				w.mu.Unlock()
				a.answer(m, `{}`)
			case m.Method == "session/prompt":
				session := m.Params["sessionId"].(string)
				a.works(session, true)
				if w.rng.Intn(2) == 0 {
					a.say(`{"jsonrpc":"2.0","id":%v,"error":{"code":-1,"message":"no"}}`, m.ID)
				} else {
					a.say(`{"jsonrpc":"2.0","id":%v,"result":{}}`, m.ID)
				}
				a.works(session, false)
			default:
				a.answer(m, `{}`)
			}
			continue
		default:
		}
		break
	}
	session := sessions[w.rng.Intn(len(sessions))]
	w.mu.Lock()
	open := w.sessions[session]
	mine := open != nil && open.agent.proc == agentProcess(a)
	w.mu.Unlock()
	if !mine {
		return
	}
	w.said++
	switch w.rng.Intn(3) {
	case 0:
		w.told[open] = append(w.told[open], fmt.Sprintf("agent: n%d", w.said))
		a.chunk(session, fmt.Sprintf("n%d", w.said))
	case 1:
		w.asked[fmt.Sprintf("%p %v", a, w.said)] = session
		a.say(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":%q,"toolCall":{}}}`, w.said, session)
	case 2:
		w.asked[fmt.Sprintf("%p %v", a, w.said)] = session
		a.say(`{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":{"sessionId":%q,"mode":"form"}}`, w.said, session)
	}
}

// For any interleaving: each request of a client and of an agent has at most one answer, and exactly one when everything has settled; no
// update is shown twice, or out of order.
func TestAnyOrder(t *testing.T) {
	sessions := []string{"s1", "s2"}
	seeds := 1000
	if testing.Short() {
		seeds = 250
	}
	for seed := range seeds {
		withServer(t, func(t *testing.T, h *testServer) {
			w := &world{testServer: h, rng: rand.New(rand.NewSource(int64(seed))), asked: map[any]string{}, told: map[*session][]string{}}
			for range 120 {
				w.step(sessions)
			}
			for _, a := range w.clients {
				if w.rng.Intn(2) == 0 && !a.absent {
					a.absent = true
					a.Disconnected()
				}
			}
			time.Sleep(2 * time.Hour) // unanswered questions are given up
			for range 4 {
				synctest.Wait()
				for _, agent := range h.all() {
					w.settle(agent)
				}
				for _, a := range w.clients {
					w.answers(a)
				}
			}
			synctest.Wait()
			for _, agent := range h.all() {
				w.settle(agent)
			}
			for _, a := range w.clients {
				w.hears(a)
				if !a.absent && a.closed == "" {
					require.Empty(t, a.open, "seed %d: requests without an answer", seed)
				}
				for session, whole := range a.whole {
					h.Server.mu.Lock()
					open := h.sessions[session]
					there := open != nil && open.subscriber(a.Client) != nil
					h.Server.mu.Unlock()
					if there && whole && !a.absent && !a.caps.IgnoresUpdatesOutsidePrompt {
						require.Equal(t, w.told[open], a.since(session), "seed %d: %s", seed, session)
					}
				}
				for session := range a.seen {
					texts := a.since(session)
					require.True(t, slices.IsSortedFunc(texts, func(x, y string) int { return number(x) - number(y) }), "seed %d: %s: %v", seed, session, texts)
				}
			}
			for _, agent := range h.all() {
				select {
				case <-agent.exited: // it waits for nothing
					maps.DeleteFunc(w.asked, func(key any, _ string) bool { return strings.HasPrefix(key.(string), fmt.Sprintf("%p ", agent)) })
				default:
				}
			}
			require.Empty(t, w.asked, "seed %d: questions without an answer", seed)
			h.Server.mu.Lock()
			require.Empty(t, h.questions)
			h.Server.mu.Unlock()
			h.Server.Close(context.Background())
		})
	}
}

// since returns what the client got since it last opened the session.
func (a *actor) since(session string) []string {
	texts := a.seen[session]
	for i := range texts {
		if a.early[session] && i > 0 && number(texts[i]) <= number(texts[i-1]) {
			return texts[i:]
		}
	}
	return texts
}

// A month of a server: 500 sessions of clients that connect, leave, load sessions of others and lose their agents. Each request has one
// answer, and nothing is left at the end: no session, agent, question, file, descriptor, goroutine (checked by synctest) or memory.
func TestMonth(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	memory, descriptors := heap(), openFiles(t)
	withServer(t, func(t *testing.T, h *testServer) {
		w := &world{testServer: h, rng: rand.New(rand.NewSource(1)), asked: map[any]string{}, told: map[*session][]string{}}
		began := time.Now()
		var sessions []string
		for len(sessions) < 500 || time.Since(began) < 30*24*time.Hour {
			if w.rng.Intn(4) == 0 || len(w.clients) == 0 {
				w.clients = slices.DeleteFunc(w.clients, func(a *actor) bool { return a.absent || a.closed != "" })
				if len(w.clients) < 5 {
					w.join([]string{"{}", everything}[w.rng.Intn(2)])
				}
			}
			w.lives(w.clients[w.rng.Intn(len(w.clients))], sessions)
			if w.rng.Intn(3) == 0 {
				time.Sleep(time.Duration(w.rng.Intn(int(4 * time.Hour))))
			}
			h.Server.mu.Lock()
			for id := range h.sessions {
				if !slices.Contains(sessions, id) {
					sessions = append(sessions, id)
				}
			}
			h.Server.mu.Unlock()
		}
		for range 10 {
			for _, agent := range h.all() {
				w.settle(agent)
			}
			time.Sleep(2 * time.Hour) // unanswered questions are given up
		}
		for _, a := range w.clients {
			w.hears(a)
			if !a.absent && a.closed == "" {
				require.Empty(t, a.open, "requests without an answer")
			}
			a.Disconnected()
		}
		for range 10 {
			time.Sleep(time.Hour)
			for _, agent := range h.all() {
				w.settle(agent)
			}
		}
		require.Zero(t, h.Status().Agents)
		require.Empty(t, h.Status().Sessions)
		h.Server.mu.Lock()
		require.Empty(t, h.questions)
		require.Empty(t, h.Server.agents)
		h.Server.mu.Unlock()
		h.Server.work.Wait()
		files, err := os.ReadDir(h.Journals)
		require.NoError(t, err)
		require.Len(t, files, 1, "no session is open")
		require.Equal(t, unfinishedDir, files[0].Name(), "of turns that were cut off")
		t.Logf("%d sessions, %d agents, %d looks in %v", len(sessions), len(h.began), len(h.queryAgents), time.Since(began).Round(time.Hour))
		h.began, h.queryAgents, h.next = nil, nil, nil
	})
	require.Equal(t, descriptors, openFiles(t))
	require.Less(t, heap(), memory+8<<20)
}

// openFiles returns the number of this process's descriptors; 0 if unknown.
func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(files)
}

// lives makes a client do something, and agents act at random.
func (w *world) lives(a *actor, sessions []string) {
	synctest.Wait()
	w.hears(a)
	session := "none"
	if len(sessions) > 0 {
		session = sessions[max(0, len(sessions)-1-w.rng.Intn(10))]
	}
	method, params := "", fmt.Sprintf(`{"sessionId":%q,"cwd":"/w","prompt":[]}`, session)
	switch w.rng.Intn(12) {
	case 0, 1, 2:
		method = "session/new"
	case 3:
		method = "session/load"
	case 4:
		method = "session/resume"
	case 5, 6, 7:
		method = "session/prompt"
	case 8:
		method = []string{"session/close", "session/delete", "session/list", "_session/steering"}[w.rng.Intn(4)]
	case 9:
		a.absent = true
		a.Disconnected()
	case 10:
		if all := w.agents(); len(all) > 0 && w.rng.Intn(4) == 0 {
			all[len(all)-1].exit()
			synctest.Wait()
		}
	}
	if method != "" && !a.absent && a.closed == "" {
		a.asks(method, params)
	}
	for range 3 {
		synctest.Wait()
		for _, agent := range w.all() {
			if w.rng.Intn(2) == 0 {
				w.acts(agent, append([]string{"none"}, session))
			} else {
				w.settle(agent)
			}
		}
	}
	w.answers(a)
}

func number(text string) (n int) {
	_, _ = fmt.Sscanf(text, "agent: n%d", &n)
	return n
}

// settle is acts without anything new.
func (w *world) settle(a *fakeAgent) { w.acts(a, []string{"none"}) }

// answers makes a client answer all its questions.
func (w *world) answers(a *actor) {
	w.hears(a)
	for _, id := range a.asked {
		if !a.absent {
			a.say(`{"jsonrpc":"2.0","id":%q,"result":{}}`, id)
		}
	}
	a.asked = nil
}

func (w *world) step(sessions []string) {
	session := sessions[w.rng.Intn(len(sessions))]
	if len(w.clients) == 0 || len(w.clients) < 5 && w.rng.Intn(12) == 0 {
		w.join([]string{"{}", everything}[w.rng.Intn(2)])
	}
	a := w.clients[w.rng.Intn(len(w.clients))]
	if w.rng.Intn(3) > 0 {
		synctest.Wait()
	}
	w.hears(a)
	switch w.rng.Intn(9) {
	case 0:
		if !a.absent && w.rng.Intn(4) == 0 {
			a.absent = true
			a.Disconnected()
		}
	case 1, 2:
		if id := a.loads[session]; !a.absent && !a.open[id] {
			// What it has seen starts over once pending messages have arrived: some arrive after the request if the server sent them before
			// reading it.
			if a.early[session] = w.rng.Intn(2) == 0; !a.early[session] {
				synctest.Wait()
				w.hears(a)
			}
			delete(a.seen, session)
			method := []string{"session/load", "session/resume"}[w.rng.Intn(2)]
			a.asks(method, fmt.Sprintf(`{"sessionId":%q}`, session))
			a.at[session], a.loads[session] = true, fmt.Sprint("c", a.last)
			a.whole[session] = method == "session/load"
		}
	case 3:
		if !a.absent && a.at[session] {
			a.asks("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[]}`, session))
		}
	case 4:
		if !a.absent && a.at[session] && w.rng.Intn(3) == 0 {
			a.asks("session/close", fmt.Sprintf(`{"sessionId":%q}`, session))
		}
	case 5:
		if len(a.asked) > 0 && !a.absent {
			a.say(`{"jsonrpc":"2.0","id":%q,"result":{}}`, a.asked[0])
			a.asked = a.asked[1:]
		}
	default:
		synctest.Wait()
		for _, agent := range w.all() {
			w.acts(agent, sessions)
		}
	}
}
