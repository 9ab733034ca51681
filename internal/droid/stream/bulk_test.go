package stream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A long history is decoded from its line: in addition to that its texts are in memory, once.
func TestHistoryIsHeldOnce(t *testing.T) {
	const messages = 5000
	var line bytes.Buffer
	line.WriteString(`{"jsonrpc":"2.0","type":"response","id":"r1","result":{"session":{"messages":[`)
	for i := range messages {
		_, _ = fmt.Fprintf(&line, `{"id":"m%d","role":"user","content":[{"type":"text","text":%q}]},`, i, strings.Repeat("word ", 400))
	}
	line.Truncate(line.Len() - 1)
	line.WriteString(`]}}}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	decoded, err := new(Decoder).Decode(line.Bytes(), true)
	require.NoError(t, err)
	var info SessionInfo
	require.NoError(t, json.Unmarshal(decoded.Response.Result, &info))
	runtime.ReadMemStats(&after)
	require.Len(t, info.Messages, messages)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(3*line.Len()/2))
}
