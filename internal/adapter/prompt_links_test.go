package adapter

import (
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/fakedroid"
)

// A prompt that waits may link a file that the turn before it makes: the model is not told
// that there is none.
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
		e.agent.opener.Stat = func(string) (os.FileInfo, error) {
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
