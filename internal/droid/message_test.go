package droid

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// A user message is encoded as by encoding/json, whatever its texts and data are.
func TestUserMessageMatchesEncodingJSON(t *testing.T) {
	const mark = `"data":""`
	for _, data := range []string{"", "aW1n", mark, "a\nb", `\"data\":\"\"`, "é\xff", "<b>&", strings.Repeat("QUJD", 5000)} {
		m := userMessage{Text: mark + data, MessageID: data,
			Images: []stream.Image{{Data: data, MediaType: mark}, {Data: "aW1n", MediaType: "image/png"}, {Data: data}},
			Files:  []stream.File{{Name: mark, MediaType: "text/plain", Data: data}, {Name: data, Data: "JVBE", Base64: true}, {}}}
		line, err := encodeRequest("r1", methodAddUserMessage, m)
		require.NoError(t, err)
		require.Equal(t, "\n", string(line[len(line)-1:]))
		var got struct{ Params json.RawMessage }
		require.NoError(t, json.Unmarshal(line, &got))
		want, err := json.Marshal(m)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got.Params))
	}
}

// An image is copied once on its way into the line.
func TestImageIsCopiedOnce(t *testing.T) {
	m := userMessage{Text: "go", Images: []stream.Image{{Data: strings.Repeat("QUJD", 1<<20), MediaType: "image/png"}}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	line, err := encodeRequest("r1", methodAddUserMessage, m)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(line)+len(line)/2))
}
