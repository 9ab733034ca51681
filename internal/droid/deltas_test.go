package droid

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const benchedDelta = `{"jsonrpc":"2.0","type":"notification","factoryApiVersion":"1.0.0","factoryProtocolVersion":"1.220.0",` +
	`"method":"droid.session_notification","params":{"sessionId":"5c7effe1-96ff-4200-bdfd-f2fd4d5dae92","notification":` +
	`{"type":"assistant_text_delta","messageId":"4e76c44c-10e0-45ae-84c4-daf2856f20d3","blockIndex":0,"textDelta":"Hello \"you\" "}},"_meta":{"traceparent":"00-9cc766d37c7f8ad4888a8b33b47c2d04-%016x-01"}}`

// benchedDeltas returns deltas of 0.225, each with its own span.
func benchedDeltas(n int) string {
	var b strings.Builder
	for i := range n {
		_, _ = fmt.Fprintf(&b, benchedDelta+"\n", i)
	}
	return b.String()
}

// A delta that is read with others costs next to no memory: 0.07 allocations each, of the text that
// they make together.
func TestDeltasAllocateLittle(t *testing.T) {
	const deltas = 20_000
	lines := benchedDeltas(deltas)
	perTurn := testing.AllocsPerRun(3, func() {
		c := NewClient(strings.NewReader(lines), discard{}, nil)
		for range c.Events() {
		}
		<-c.Exited()
	})
	require.Less(t, perTurn/deltas, 0.5)
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }
