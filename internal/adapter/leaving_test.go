package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/opening"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// An owner that is blocked for good does not keep the agent: it ends in bounded
// time, and no droid outlives it.
func TestServeEndsWithABlockedOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clients []*droid.Client
		e := begin(t, func(int) (*droid.Client, error) {
			clients = append(clients, fakeDroid(says("hi")))
			return clients[len(clients)-1], nil
		})
		s, err := e.agent.session(e.session)
		require.Nil(t, err)
		release := make(chan struct{})
		defer close(release)
		s.Post(func() { <-release })
		began := time.Now()
		require.NoError(t, e.in.Close())
		<-e.served
		require.LessOrEqual(t, time.Since(began), endTime+droid.KillTime+2*flushTime)
		require.Len(t, clients, 1)
		<-clients[0].Exited()
	})
}

// Kill ends what runs, and what is started while the agent ends.
func TestKillEndsEveryDroid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clients []*droid.Client
		e := begin(t, func(int) (*droid.Client, error) {
			clients = append(clients, fakeDroid(says("hi")))
			return clients[len(clients)-1], nil
		})
		require.Nil(t, e.call("session/new", `{"cwd":"/w","mcpServers":[]}`).Error)
		e.agent.Kill()
		require.Len(t, clients, 2)
		for _, c := range clients {
			<-c.Exited()
		}
		late, err := e.agent.cfg.Start(droid.Command{Dir: "/w"})
		require.NoError(t, err)
		<-late.Exited()
	})
}

// brokenOut is an editor's end that is closed after a while.
type brokenOut struct {
	bytes.Buffer
	closed chan struct{}
}

func (w *brokenOut) Write(p []byte) (int, error) {
	select {
	case <-w.closed:
		return 0, io.ErrClosedPipe
	default:
		return w.Buffer.Write(p)
	}
}

// An editor that closes the agent's stdout hears nothing any more, even if it keeps
// stdin open. So the running turn ends as if it had closed both.
func TestTurnEndsWhenNobodyHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		interrupted := make(chan struct{})
		heard := sync.OnceFunc(func() { close(interrupted) })
		tap := func(line []byte) {
			if bytes.Contains(line, []byte(`"droid.interrupt_session"`)) {
				heard()
			}
		}
		script := eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			_ = d.Say("", "Working ")
			_ = d.Pause(time.Minute)
			_ = d.Say("", "On and on. ")
			return d.Silence()
		})
		agent := New(Config{
			Locate: func() (string, error) { return "/usr/bin/droid", nil },
			Config: opening.Config{Start: func(droid.Command) (*droid.Client, error) { return tappedDroid(tap, script), nil }},
			Log:    zap.NewNop(),
		})
		in, stdin := io.Pipe()
		defer stdin.Close()
		out := &brokenOut{closed: make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- agent.Serve(context.Background(), in, out); _ = in.Close() }()
		send := func(line string) {
			_, err := io.WriteString(stdin, line+"\n")
			require.NoError(t, err)
			synctest.Wait()
		}
		send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
		send(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":` + quoted(t.TempDir()) + `,"mcpServers":[]}}`)
		var id string
		agent.sessions.List()[0].Post(func() {})
		synctest.Wait()
		id = agent.sessions.List()[0].out.Session()
		send(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":` + quoted(id) + `,"prompt":[{"type":"text","text":"go"}]}}`)
		require.Contains(t, out.String(), "Working")
		close(out.closed)
		<-interrupted
		require.NoError(t, <-served, "stdin is still open")
	})
}

func quoted(text string) string {
	raw, _ := json.Marshal(text) // strings always encode
	return string(raw)
}

// The spare is for the first session. When none comes it does not stay for ever;
// a session that comes later starts a process of its own.
func TestSpareDoesNotStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clients []*droid.Client
		e := connect(t, func(int) (*droid.Client, error) {
			clients = append(clients, fakeDroid(says("hi")))
			return clients[len(clients)-1], nil
		})
		time.Sleep(droid.SpareTime - time.Second)
		require.Len(t, clients, 1)
		require.Nil(t, clients[0].ExitError(), "it waits for the session")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.NotNil(t, clients[0].ExitError())
		e.beginSession()
		require.Len(t, clients, 2)
		require.Equal(t, "end_turn", e.run("go"))
		time.Sleep(2 * droid.SpareTime)
		synctest.Wait()
		require.Nil(t, clients[1].ExitError(), "a session's process is no spare")
	})
}
