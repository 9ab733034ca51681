package session_test

import (
	"encoding/json"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// A session that is blocked for good does not keep the agent: it ends in bounded
// time, and no droid outlives it.
func TestServeEndsWithABlockedOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clients []*droid.Client
		e := begin(t, func(int) (*droid.Client, error) {
			clients = append(clients, fakeDroid(says("hi")))
			return clients[len(clients)-1], nil
		})
		s, err := e.find(e.session)
		require.Nil(t, err)
		release := make(chan struct{})
		defer close(release)
		s.Lock().Post(func() { <-release })
		began := time.Now()
		require.NoError(t, e.in.Close())
		<-e.served
		require.LessOrEqual(t, time.Since(began), adapter.EndTime+droid.KillTime+2*adapter.FlushTime)
		require.Len(t, clients, 1)
		<-clients[0].Exited()
	})
}

// Kill ends running processes, and those that are started while the agent ends.
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
		late, err := e.agent.Config.Start(droid.Command{Dir: "/w"})
		require.NoError(t, err)
		<-late.Exited()
	})
}

// If an editor closes the agent's stdout but keeps stdin open, the running turn ends as if it had closed both.
func TestTurnEndsWhenNobodyHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := new(toldLines)
		e := begin(t, func(int) (*droid.Client, error) {
			return tappedDroid(told.add, eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
				return inTurn(func() error { return d.Say("", "Working ") }, func() error { return d.Pause(time.Minute) },
					func() error { return d.Say("", "On and on. ") }, d.Silence)
			})), nil
		})
		e.prompt("go")
		require.Contains(t, e.updates(), "agent: Working ")
		require.NoError(t, e.out.in.(io.Closer).Close())
		<-e.served // stdin is still open
		require.GreaterOrEqual(t, told.place(1, `"droid.interrupt_session"`), 0)
	})
}

func quoted(text string) string {
	raw, _ := json.Marshal(text) // strings always encode
	return string(raw)
}

// The prewarmed droid is for the first session. If none comes, it ends; a later session starts another process.
func TestSpareDoesNotStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clients []*droid.Client
		e := connect(t, func(int) (*droid.Client, error) {
			clients = append(clients, fakeDroid(says("hi")))
			return clients[len(clients)-1], nil
		})
		time.Sleep(droid.PrewarmTime - time.Second)
		require.Len(t, clients, 1)
		require.Nil(t, clients[0].ExitError(), "it waits for the session")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.NotNil(t, clients[0].ExitError())
		e.beginSession()
		require.Len(t, clients, 2)
		require.Equal(t, "end_turn", e.run("go"))
		time.Sleep(2 * droid.PrewarmTime)
		synctest.Wait()
		require.Nil(t, clients[1].ExitError(), "a session's process is no spare")
	})
}
