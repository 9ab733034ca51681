package wire

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// TestClosedGateIsTheEndOfInput: also while a line waits for its handler.
func TestClosedGateIsTheEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, editor := io.Pipe()
		g := newGate(in, io.Discard, roomy, newPending(), zap.NewNop())
		read := make(chan error, 1)
		go func() {
			buf := make([]byte, 1024)
			_, err := g.Read(buf)
			if err == nil {
				var n int
				n, err = g.Read(buf)
				require.Zero(t, n)
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

// TestGateHoldsRequestsOfAnEditorThatReadsNoAnswers: a notification, a cancel above
// all, needs no answer and passes; a request waits until there is room for its
// answer.
func TestGateHoldsRequestsOfAnEditorThatReadsNoAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := make(chan struct{})
		overfull := func() <-chan struct{} {
			select {
			case <-room:
				return nil
			default:
				return room
			}
		}
		in := strings.NewReader(`{"jsonrpc":"2.0","method":"session/cancel"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"session/list"}` + "\n")
		g := newGate(in, io.Discard, overfull, newPending(), zap.NewNop())
		passed := make(chan string, 2)
		go func() {
			buf := make([]byte, 1024)
			for range 2 {
				n, err := g.Read(buf)
				if err != nil {
					break
				}
				passed <- string(buf[:n])
				g.release()
			}
			close(passed)
		}()
		require.Contains(t, <-passed, "session/cancel")
		synctest.Wait()
		require.Empty(t, passed, "the request waits")
		close(room)
		require.Contains(t, <-passed, "session/list")
		for range passed {
		}

		held := newGate(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"session/list"}`+"\n"), io.Discard,
			func() <-chan struct{} { return make(chan struct{}) }, newPending(), zap.NewNop())
		end := make(chan error, 1)
		go func() {
			n, err := held.Read(make([]byte, 1024))
			require.Zero(t, n)
			end <- err
		}()
		synctest.Wait()
		held.close()
		require.Equal(t, io.EOF, <-end, "a held request does not hold up the end")
	})
}
