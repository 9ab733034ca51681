package session_test

import (
	"encoding/base64"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
)

// TestImagesAreNotKept checks that nothing holds the images of a prompt during its turn, since nothing can be sent again. CodeCompanion's
// next prompt, which begins with a stopped one, is still recognized.
func TestImagesAreNotKept(t *testing.T) {
	for _, client := range []string{"zed", "CodeCompanion.nvim"} {
		t.Run(client, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := beginNamed(t, client, "{}", playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error { return d.Pause(time.Minute) })))
				e.run("one") // makes what is made once
				before := heap()
				image := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 3<<20)...))
				id := e.request("session/prompt", e.inSession(fmt.Sprintf(`,"prompt":[{"type":"text","text":"look"},{"type":"image","mimeType":"image/png","data":%q}]`, image)))
				size := int64(len(image))
				image = ""
				time.Sleep(time.Second)
				answer, over := e.answered(id)
				require.False(t, over, ended(answer))
				require.Less(t, heap()-before, size/2)
				e.cancel()
				require.Equal(t, "cancelled", ended(e.await(id)))
			})
		})
	}
}

// heap is how much memory is in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
