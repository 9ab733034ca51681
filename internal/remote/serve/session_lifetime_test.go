package serve

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// restCase is a session in some state when an event occurs.
type restCase struct {
	*testServer
	t      *testing.T
	window *fakeClient
	agent  *fakeAgent
	prompt *rpcMessage // unanswered
}

// heard returns the messages an agent got since the last call, by method, with "answer" for an answer.
func (a *fakeAgent) heard() string {
	synctest.Wait()
	var all []string
	for len(a.lines) > 0 {
		m := a.next()
		if m.Method == "" {
			m.Method = "answer " + string(m.Result)
		}
		all = append(all, m.Method)
	}
	return strings.Join(all, ", ")
}

// TestSessionLifetime checks, for each state of a session and each event, what continues and what is sent. agent lists the input of its
// agent, and told a part of the client's input.
func TestSessionLifetime(t *testing.T) {
	states := map[string]func(s *restCase){
		"resting": func(s *restCase) {
			s.agent.answer(s.window.prompts(s.agent, "s1", "go"), `{"stopReason":"end_turn"}`)
		},
		"prompt": func(s *restCase) { m := s.window.prompts(s.agent, "s1", "go"); s.prompt = &m },
		"steered": func(s *restCase) {
			s.window.say(`{"jsonrpc":"2.0","id":"s","method":"_session/steering","params":{"sessionId":"s1","prompt":[]}}`)
			s.agent.answer(s.agent.next(), `{"outcome":"startedNewTurn"}`)
			s.agent.works("s1", true)
		},
		"own turn": func(s *restCase) { s.agent.works("s1", true) },
		"background": func(s *restCase) {
			m := s.window.prompts(s.agent, "s1", "go")
			s.agent.say(`{"jsonrpc":"2.0","id":%v,"result":{"stopReason":"end_turn"}}`, m.ID)
		},
		"question": func(s *restCase) {
			m := s.window.prompts(s.agent, "s1", "go")
			s.prompt = &m
			s.agent.asksPermission("s1")
		},
	}
	first := AttachParams{Program: "/p", Env: []string{"A=1"}}
	const (
		open, refused = `l= {"modes":{"currentModeId":"off","availableModes":[]}}`, "d! The session could not be deleted: deleting session s1: "
		runs, shut    = refused + "something runs in it, which no window shows; open the session and stop that, or end it where the server runs: <stop s1>", refused + "it is open in another window or program of yours; close it there first"
		note          = "agent: \n\nThe agent of this session was started otherwise, and does not use of this window: `$A`, `$B`. To change that, close the session in each window, then open it here.\n\n"
		ended         = "The agent of this session has ended (exit status 3). Open the session again to go on."
		cancelled     = `answer {"outcome":{"outcome":"cancelled"}}`
	)
	another := func(s *restCase, h AttachParams) *fakeClient { return s.attached(everything, h) }
	remove := func(c *fakeClient) {
		c.say(`{"jsonrpc":"2.0","id":"d","method":"session/delete","params":{"sessionId":"s1"}}`)
	}
	events := map[string]func(s *restCase) (told []string){
		"the window closes": func(s *restCase) []string { s.window.Disconnected(); return nil },
		"it opens again": func(s *restCase) []string {
			s.window.Disconnected()
			c := another(s, first)
			c.load("s1")
			return c.take()
		},
		"another one attaches": func(s *restCase) []string {
			c := another(s, AttachParams{Program: "/p", Env: []string{"B=1"}})
			c.load("s1")
			return c.take()
		},
		"attach watches": func(s *restCase) []string {
			c := another(s, AttachParams{Program: "/p", WatchOnly: true})
			c.load("s1")
			return c.take()
		},
		"another one deletes it": func(s *restCase) []string { c := another(s, first); remove(c); return c.take() },
		"deleted without windows": func(s *restCase) []string {
			s.window.Disconnected()
			c := another(s, first)
			remove(c)
			return c.take()
		},
		"half a day passes": func(s *restCase) []string { s.window.Disconnected(); time.Sleep(12 * time.Hour); return nil },
		"SIGTERM": func(s *restCase) []string {
			s.Server.Close(context.Background())
			return []string{s.window.closed}
		},
		"the agent is killed": func(s *restCase) []string { s.agent.exit(); return append(s.window.take(), s.window.closed) },
	}
	type becomes struct {
		agent string // what it gets
		told  string
		over  bool // the session is no more
	}
	all := func(b becomes, but map[string]becomes) map[string]becomes {
		rows := map[string]becomes{}
		for state := range states {
			rows[state] = b
		}
		for state, b := range but {
			rows[state] = b
		}
		return rows
	}
	table := map[string]map[string]becomes{
		"the window closes":       all(becomes{}, nil),
		"it opens again":          all(becomes{told: open}, map[string]becomes{"resting": {agent: "session/load"}}),
		"another one attaches":    all(becomes{told: note}, nil),
		"attach watches":          all(becomes{told: open}, nil),
		"another one deletes it":  all(becomes{told: shut}, nil),
		"deleted without windows": all(becomes{told: runs}, map[string]becomes{"resting": {agent: "session/delete"}}),
		"half a day passes":       all(becomes{}, map[string]becomes{"resting": {agent: "session/close"}, "question": {agent: cancelled}}),
		"SIGTERM":                 all(becomes{told: "the server ends", over: true}, map[string]becomes{"question": {agent: cancelled, told: "the server ends", over: true}}),
		"the agent is killed":     all(becomes{told: ended, over: true}, nil),
	}
	require.Len(t, table, len(events))
	for event, rows := range table {
		for state, want := range rows {
			t.Run(event+"/"+state, func(t *testing.T) {
				withServer(t, func(t *testing.T, h *testServer) {
					s := &restCase{testServer: h, t: t, window: h.attached(everything, first)}
					s.window.begins()
					s.agent = h.agents()[0]
					s.agent.answer(s.agent.next(), `{"sessionId":"s1","modes":{"currentModeId":"off","availableModes":[]}}`)
					states[state](s)
					s.window.take()
					s.agent.heard()
					told := strings.Join(events[event](s), "\n")
					if want.agent == "" || want.over {
						require.Contains(t, []string{want.agent, ""}, s.agent.heard())
					} else {
						require.Equal(t, want.agent, s.agent.heard())
					}
					require.Contains(t, told, want.told)
					if state == "question" && (event == "it opens again" || event == "another one attaches") {
						require.Contains(t, told, "session/request_permission", "it may be answered there")
					}
					if want.over {
						require.Empty(t, h.Status().Sessions)
						return
					}
					require.Len(t, h.Status().Sessions, 1)
					require.Len(t, h.agents(), 1, "nothing was started")
					if want.agent == "" {
						require.Equal(t, state != "resting", h.Status().Sessions[0].State != Idle)
					}
					if want.agent == "" && state != "resting" {
						s.agent.chunk("s1", "more")
						c := another(s, first)
						c.load("s1")
						require.Contains(t, c.take(), "agent: more")
					}
				})
			})
		}
	}
}
