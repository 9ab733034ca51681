package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
)

// A report is written while a turn runs, at once.
func TestReportInATurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := begin(t, playing(fakedroid.EachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error { return d.Pause(time.Hour) })))
		file := filepath.Join(t.TempDir(), "report.txt")
		e.prompt("work")
		synctest.Wait()
		began := time.Now()
		require.Nil(t, e.call("_droid/report", fmt.Sprintf(`{"sessionId":%q,"path":%q}`, e.session, file)).Error)
		require.Less(t, time.Since(began), time.Second)
		require.FileExists(t, file)
	})
}

// A report says how far droid is with a prompt for which nobody but droid-acp waits.
func TestReportOfADroidThatDoesNotStop(t *testing.T) {
	noAnswer := func(map[string]any) (any, string) { return fakedroid.NoAnswer{}, "" }
	for method, want := range map[string]string{
		"droid.interrupt_session": "the prompt was cancelled, and droid has not ended it",
		"droid.add_user_message":  "droid has not accepted the prompt",
	} {
		bubble(t, func(t *testing.T) {
			e := begin(t, playing(fakedroid.EachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error { return d.Pause(time.Hour) }), fakedroid.WithAnswer(method, noAnswer)))
			e.prompt("work")
			synctest.Wait()
			if method == "droid.interrupt_session" {
				e.cancel()
				time.Sleep(time.Second)
			}
			file := filepath.Join(t.TempDir(), "report.txt")
			require.Nil(t, e.call("_droid/report", fmt.Sprintf(`{"sessionId":%q,"path":%q}`, e.session, file)).Error)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Contains(t, string(text), "- what waits: "+want)
		})
	}
}
