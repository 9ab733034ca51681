package adapter

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// slowWriter lets one Write through for each token.
type slowWriter struct {
	tokens chan struct{}
	out    bytes.Buffer
}

func (w *slowWriter) Write(p []byte) (int, error) {
	if _, ok := <-w.tokens; !ok {
		return 0, io.ErrClosedPipe
	}
	return w.out.Write(p)
}

func TestOutboxKeepsOrderAndMergesWaitingText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{tokens: make(chan struct{})}
		o := newOutbox(w)
		_, err := o.Write([]byte("first\n"))
		require.NoError(t, err)
		synctest.Wait() // the writer now waits in Write
		o.sendText("A:", "a")
		o.sendText("A:", "b")
		o.sendText("B:", "c")
		_, err = o.Write([]byte("line\n"))
		require.NoError(t, err)
		o.sendText("B:", "d")
		w.tokens <- struct{}{}
		w.tokens <- struct{}{}
		o.close()
		<-o.done
		want := "first\n" + `A:"ab"` + textChunkSuffix + `B:"c"` + textChunkSuffix + "line\n" + `B:"d"` + textChunkSuffix
		require.Equal(t, want, w.out.String())
	})
}

func TestOutboxBlocksSendersOfASlowEditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{tokens: make(chan struct{})}
		o := newOutbox(w)
		_, _ = o.Write([]byte("taken by the writer\n"))
		synctest.Wait()
		sent := 0
		go func() {
			for range maxQueuedLines + 10 {
				_, _ = o.Write([]byte("x\n"))
				sent++
			}
		}()
		synctest.Wait()
		require.Equal(t, maxQueuedLines, sent, "no more is taken than fits")
		o.unbound()
		synctest.Wait()
		require.Equal(t, maxQueuedLines+10, sent, "nobody waits any more when the agent ends")
		close(w.tokens)
		o.close()
		<-o.done
	})
}

func TestOutboxFailsSendersWhenTheEditorIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{tokens: make(chan struct{})}
		close(w.tokens)
		o := newOutbox(w)
		_, _ = o.Write([]byte("x\n"))
		<-o.done
		_, err := o.Write([]byte("y\n"))
		require.ErrorIs(t, err, io.ErrClosedPipe)
		o.sendText("A:", "not written")
	})
}

func TestOutboxMergedTextIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{tokens: make(chan struct{}, 2)}
		o := newOutbox(w)
		_, _ = o.Write([]byte("\n"))
		synctest.Wait()
		piece := strings.Repeat("x", maxMerged/4+1)
		for range 8 {
			o.sendText("A:", piece)
		}
		w.tokens <- struct{}{}
		w.tokens <- struct{}{}
		o.close()
		<-o.done
		require.Equal(t, 8*len(piece), strings.Count(w.out.String(), "x"))
		require.Equal(t, 3, strings.Count(w.out.String(), "A:"), "8 pieces, at most 3 in one chunk")
	})
}

func BenchmarkOutboxText(b *testing.B) {
	o := newOutbox(io.Discard)
	prefix := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":`
	for b.Loop() {
		o.sendText(prefix, "a few words ")
	}
	o.close()
	<-o.done
}
