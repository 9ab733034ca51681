package session_test

import (
	"fmt"
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
