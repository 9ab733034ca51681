package session_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/testing/fakedroid"
)

// fleet are the droids of a test. They have their sessions in common and, as the
// real one, take a while to leave when their input ends.
type fleet struct {
	t       *testing.T
	store   fakedroid.Sessions
	options []fakedroid.Option
	answers map[string]fakedroid.Answer // of the sessions that are made
	script  fakedroid.Script

	mu      sync.Mutex
	clients []*droid.Client
	told    [][]string // to each of them: "method session"
	raw     []string   // all that each of them received
	has     []string   // the session that each of them was asked to load last
	loaded  []string   // the sessions made by compacting and rewinding, in order
}

const leavesAfter = 5 * time.Second

func newFleet(t *testing.T, v fakedroid.Option, script fakedroid.Script) *fleet {
	f := &fleet{t: t, script: script}
	made := func(map[string]any) (any, string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.loaded = append(f.loaded, f.store.Add("/workspace"))
		return fakedroid.Fields{"newSessionId": f.loaded[len(f.loaded)-1], "removedCount": 4, "restoredCount": 1}, ""
	}
	f.answers = map[string]fakedroid.Answer{"droid.compact_session": made, "droid.execute_rewind": made,
		"droid.get_rewind_info": func(map[string]any) (any, string) { return fakedroid.Fields{}, "" }}
	f.options = []fakedroid.Option{v, fakedroid.WithSessions(&f.store),
		answering("get_context_stats", fakedroid.Fields{"used": 14087, "limit": 250000, "accuracy": "estimated"}),
	}
	for method, answer := range f.answers {
		f.options = append(f.options, fakedroid.WithAnswer(method, answer))
	}
	return f
}

// later delays an answer.
func (f *fleet) later(method string, after time.Duration) {
	answer := f.answers[method]
	f.options = append(f.options, fakedroid.WithAnswer(method, func(map[string]any) (any, string) {
		return fakedroid.Later{After: after, Then: answer}, ""
	}))
}

// start is a starter.
func (f *fleet) start(int) (*droid.Client, error) {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	f.mu.Lock()
	n := len(f.clients)
	f.told, f.raw, f.has = append(f.told, nil), append(f.raw, ""), append(f.has, "")
	client := droid.NewClient(stdout, tapped{stdin, func(line []byte) { f.hear(n, line) }}, zap.NewNop())
	f.clients = append(f.clients, client)
	f.mu.Unlock()
	go func() {
		_ = fakedroid.Run(in, out, f.script, f.options...)
		_ = in.CloseWithError(io.ErrClosedPipe)
		select {
		case <-time.After(leavesAfter):
		case <-client.Exited():
		}
		_ = out.Close()
	}()
	return client, nil
}

// hear records what a droid receives. A session is open in one of them at a time.
func (f *fleet) hear(n int, line []byte) {
	var m struct {
		Method string
		Params struct{ SessionID string }
	}
	_ = json.Unmarshal(line, &m) // answers have no method
	f.mu.Lock()
	defer f.mu.Unlock()
	f.raw[n] += string(line)
	if m.Method == "" {
		return
	}
	f.told[n] = append(f.told[n], strings.TrimPrefix(m.Method, "droid.")+" "+m.Params.SessionID)
	if m.Method != "droid.load_session" {
		return
	}
	for i, client := range f.clients {
		select {
		case <-client.Exited():
			continue
		default:
		}
		if i != n && f.has[i] == m.Params.SessionID {
			f.t.Errorf("droid %d is told to load %s, which droid %d still has", n+1, m.Params.SessionID, i+1)
		}
	}
	f.has[n] = m.Params.SessionID
}

// alive counts the droids that have not left, after those that leave have.
func (f *fleet) alive() (n int) {
	time.Sleep(2 * leavesAfter)
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, client := range f.clients {
		select {
		case <-client.Exited():
		default:
			n++
		}
	}
	return n
}

// made is the session that the last command made.
func (f *fleet) made() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.loaded[len(f.loaded)-1]
}

// of are the updates that came for one id, in short, without titles.
func (e *editor) of(session string) (out []string) {
	for _, m := range e.received() {
		var p struct{ SessionID string }
		if m.Method == "session/update" && json.Unmarshal(m.Params, &p) == nil && p.SessionID == session && !ownUpdate(m) && !strings.Contains(string(m.Params), "session_info_update") {
			out = appendUpdate(out, shortUpdate(m.Params))
		}
	}
	return out
}

func repeats() fakedroid.Script {
	return eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error { return d.Say("", "re: "+p.Text) })
}

// repeatsLater is repeats for prompts during which the agent looks at the disk: it has looked when the answer comes.
func repeatsLater() fakedroid.Script {
	return eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
		if err := d.Pause(time.Second); err != nil {
			return err
		}
		return d.Say("", "re: "+p.Text)
	})
}

// If the editor opens the session that droid has made for a thread before the thread goes on in it, it remains a separate session.
func TestNewSessionThatIsOpenAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		e := begin(t, f.start)
		require.Equal(t, "end_turn", e.run("one"))
		taken := f.store.Add("/workspace")
		require.Nil(t, e.call("session/load", sessionParamsOf(taken)).Error)
		f.options = append(f.options, answering("compact_session", fakedroid.Fields{"newSessionId": taken, "removedCount": 4}))
		e.inside(func(s *session.Session) { s.Process().Client().Kill() }) // the next one answers so
		synctest.Wait()
		require.Equal(t, "end_turn", e.run("/compact"))
		require.Contains(t, strings.Join(e.updates(), "\n"), "has been opened as a thread of its own already")
		require.Equal(t, "end_turn", e.run("two"))
		require.Equal(t, 2, f.alive())
		e.inside(func(s *session.Session) { require.Equal(t, e.session, s.State().DroidSessionID) })
	})
}

// A command that is cancelled while the new session is loaded has taken effect all the same, and the user is notified.
func TestCancelWhileTheThreadMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		hold := make(chan struct{})
		e := begin(t, func(n int) (*droid.Client, error) {
			if n == 2 {
				<-hold
			}
			return f.start(n)
		})
		require.Equal(t, "end_turn", e.run("one"))
		id := e.prompt("/compact")
		synctest.Wait()
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(id)))
		before := e.updates()
		close(hold)
		synctest.Wait()
		require.Equal(t, before, e.updates(), "nothing follows the response")
		require.Equal(t, "end_turn", e.run("two"))
		require.Contains(t, strings.Join(e.updates(), "\n"), "after you had cancelled it. `/fork before` reopens the conversation as it was")
		e.inside(func(s *session.Session) { require.Equal(t, f.made(), s.State().DroidSessionID) })
	})
}

// A process that leaves is gone before another one has its session, however the
// session is opened again.
func TestOneProcessAtATime(t *testing.T) {
	server := `[{"name":"files","command":"files","args":[],"env":[]}]`
	for name, again := range map[string]func(e *editor){
		"close, load, close, load": func(e *editor) {
			e.request("session/close", fmt.Sprintf(`{"sessionId":%q}`, e.session))
			e.request("session/load", sessionParamsOf(e.session))
			e.request("session/close", fmt.Sprintf(`{"sessionId":%q}`, e.session))
			require.Nil(e.t, e.call("session/load", sessionParamsOf(e.session)).Error)
			require.Equal(e.t, "end_turn", e.run("two"))
		},
		"close, fork, load": func(e *editor) {
			require.Nil(e.t, e.call("session/close", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Error)
			fork := e.request("session/fork", sessionParamsOf(e.session))
			require.Nil(e.t, e.call("session/load", sessionParamsOf(e.session)).Error)
			require.Nil(e.t, e.await(fork).Error)
		},
		"other servers": func(e *editor) {
			require.Nil(e.t, e.call("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/workspace","mcpServers":%s}`, e.session, server)).Error)
			require.Equal(e.t, "end_turn", e.run("two"))
		},
		"a new session from a command": func(e *editor) {
			require.Equal(e.t, "end_turn", e.run("/compact"))
			require.Equal(e.t, "end_turn", e.run("/compact"))
			require.Equal(e.t, "end_turn", e.run("two"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				f := newFleet(t, v, repeats())
				e := begin(t, f.start)
				require.Equal(t, "end_turn", e.run("one"))
				id := e.session
				require.Nil(t, e.call("session/resume", sessionParamsOf(id)).Error) // so that droid has received its ID
				began := time.Now()
				again(e)
				require.Less(t, time.Since(began), leavesAfter, "who is idle is not waited for")
			})
		})
	}
}

// A delete after a close waits for the process, and a load after a delete for the files.
func TestDeleteBehindClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		e := open(t, f.start)
		e.agent.Config.Store = store.New(t.TempDir(), zap.NewNop())
		require.Nil(t, e.call("initialize", `{"protocolVersion":1}`).Error)
		e.beginSession()
		require.Equal(t, "end_turn", e.run("one"))
		require.Nil(t, e.call("session/close", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Error)
		require.Nil(t, e.call("session/delete", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Error)
		select {
		case <-f.clients[0].Exited():
		default:
			t.Error("its files were moved while droid had it")
		}
	})
}
