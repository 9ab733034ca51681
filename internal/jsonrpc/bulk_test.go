package jsonrpc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// A message of megabytes is collected in parts, joined once, and read in place: no member of it is copied.
func TestLongMessageIsReadInPlace(t *testing.T) {
	const size = 8 << 20
	text := bytes.Repeat([]byte("QUJD"), size/4)
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"m","params":{"data":"%s"}}`+"\n", text)
	heard := make(chan int, 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := New(bytes.NewReader(line), io.Discard, func(call *Call) {
		heard <- len(call.Params)
		call.Async()
	}, Options{}, zap.NewNop())
	c.Run(context.Background())
	require.Equal(t, size+len(`{"data":""}`), <-heard)
	c.Close(0)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2.5*size))
}
