package adapter

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestLongestLineThroughTheConnection: what the gate lets through, the SDK's
// connection takes, which dies of longer lines.
func TestLongestLineThroughTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := begin(t, playing(says("still here")))
		head, tail := `{"jsonrpc":"2.0","id":"long","method":"session/juggle","params":{"x":"`, `"}}`
		e.send(head + strings.Repeat("a", maxLine-len(head)-len(tail)) + tail)
		m, ok := e.answered(`"long"`)
		require.True(t, ok)
		require.Equal(t, -32601, m.Error.Code)
		require.Equal(t, "end_turn", e.run("go on"))
	})
}

// TestClosedGateIsTheEndOfInput: also while a line waits for its handler.
func TestClosedGateIsTheEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, editor := io.Pipe()
		g := newGate(in, io.Discard, roomy, newRequests())
		read := make(chan error, 1)
		go func() {
			buf := make([]byte, 1024)
			_, err := g.Read(buf)
			if err == nil {
				_, err = g.Read(buf)
			}
			read <- err
		}()
		fmt.Fprintln(editor, `{"jsonrpc":"2.0","method":"a"}`)
		synctest.Wait()
		require.Empty(t, read)
		g.close()
		g.close() // once more is once
		synctest.Wait()
		require.Len(t, read, 1)
		require.Equal(t, io.EOF, <-read)
		_ = editor.Close()
	})
}
