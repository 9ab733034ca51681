package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFindTakesTheNewestCopy: a session that was copied to another project is the
// one that was used last, in whatever order the projects come.
func TestFindTakesTheNewestCopy(t *testing.T) {
	for newest, ages := range map[string][2]int{"/a": {2, 1}, "/b": {1, 2}} {
		s := newStore(t)
		for i, cwd := range []string{"/a", "/b"} {
			s.write(project(abs(cwd)), "copied"+transcript, start225("copied", abs(cwd), "hi", nil)+turn225("hi"), sometime.Add(time.Duration(ages[i])*time.Second))
		}
		found, err := s.Find("copied")
		require.NoError(t, err)
		require.Equal(t, abs(newest), found.CWD)
	}
}

// TestHiddenMessagesAreNotThePrompt: what droid writes for the model or for the
// screen alone was not said by the user.
func TestHiddenMessagesAreNotThePrompt(t *testing.T) {
	for _, visibility := range []string{"llm_only", "user_only"} {
		var h head
		h.scan([]byte(`{"type":"message","message":{"role":"user","visibility":"`+visibility+`","content":"hidden"}}
{"type":"message","message":{"role":"user","content":"said"}}
`), true)
		require.Equal(t, "said", h.prompt)
		require.True(t, h.spoken)

		h = head{}
		h.scan([]byte(`{"type":"message","message":{"role":"user","visibility":"`+visibility+`","content":"hidden"}}`), true)
		require.False(t, h.spoken)
	}
}
