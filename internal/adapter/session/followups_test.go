package session_test

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
)

// slow is a script with a turn of text, or with a slow tool, depending on the first prompt; texts collects the model's input.
type slow struct {
	mu    sync.Mutex
	texts []string
}

func (s *slow) saw(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts = append(s.texts, texts...)
}

func (s *slow) script() fakedroid.Script {
	tool := fakedroid.Tool{ID: "slow", Name: "Execute", Input: fakedroid.Fields{"command": "sleep"}, Progress: []string{"a", "b", "c"}, Result: "done"}
	return eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
		s.saw(p.Text)
		use := tool
		use.ID += p.RequestID
		switch {
		case strings.HasPrefix(p.Text, "stream"):
			return d.Say("", "one two three four five six seven eight")
		case !strings.HasPrefix(p.Text, "tool"):
			return d.Say("", "Answer to "+p.Text)
		}
		if err := d.Use("", "Tool. ", use); err != nil {
			return err
		}
		s.saw(d.Folded()...)
		return d.Say("", "Done.")
	})
}

// A prompt that waits may link a file that the turn before it makes: the model is not sent a text that the file is missing.
func TestLinkToWhatTheTurnBeforeMakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Bool
		heard := make(chan string, 2)
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			heard <- p.Text
			if err := d.Pause(time.Second); err != nil {
				return err
			}
			made.Store(true)
			return d.Say("", "made")
		})))
		e.agent.Launcher.Stat = func(string) (os.FileInfo, error) {
			if !made.Load() {
				return nil, fs.ErrNotExist
			}
			return os.Stat(os.TempDir())
		}
		link := fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"resource_link","uri":"file:///workspace/new.txt","name":"x"}]}`, e.session)
		first, second := e.request("session/prompt", link), e.request("session/prompt", link)
		require.Equal(t, "end_turn", ended(e.await(first)))
		require.Equal(t, "end_turn", ended(e.await(second)))
		require.Contains(t, <-heard, "no such file")
		require.NotContains(t, <-heard, "no such file")
	})
}

// A notice for the next prompt is shown once, however often its cause was found while the editor opened the session.
func TestNoteIsToldOnce(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		stored := new(fakedroid.Sessions)
		id := stored.Add("/workspace")
		e := connect(t, playing(says("hi"), v, fakedroid.WithSessions(stored)))
		e.session = id
		params := fmt.Sprintf(`{"sessionId":%q,"cwd":"/workspace","mcpServers":[{"type":"carrier-pigeon","name":"coo"}]}`, id)
		for range 3 {
			require.Nil(t, e.call("session/load", params).Error)
		}
		require.Equal(t, "end_turn", e.run("go"))
		require.Equal(t, 1, strings.Count(strings.Join(e.updates(), "\n"), "The MCP server coo is not there"))
		require.Equal(t, "end_turn", e.run("again"))
		require.Equal(t, 1, strings.Count(strings.Join(e.updates(), "\n"), "The MCP server coo is not there"))
	})
}
