package wire

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

// Two frames of texts, and what stands behind the text in a line.
const after = "}\n"

var (
	frameA = TextFrame{"A:", "}"}
	frameB = TextFrame{"B:", "}"}
)

func TestOutboxKeepsOrderAndMergesWaitingText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{tokens: make(chan struct{})}
		o := newOutbox(w)
		_, err := o.Write([]byte("first\n"))
		require.NoError(t, err)
		synctest.Wait() // the writer now waits in Write
		o.sendText(frameA, "a")
		o.sendText(frameA, "b")
		o.sendText(frameB, "c")
		_, err = o.Write([]byte("line\n"))
		require.NoError(t, err)
		o.sendText(frameB, "d")
		w.tokens <- struct{}{}
		w.tokens <- struct{}{}
		o.close()
		<-o.done
		want := "first\n" + `A:"ab"` + after + `B:"c"` + after + "line\n" + `B:"d"` + after
		require.Equal(t, want, w.out.String())
	})
}

// isFull asks like a session that holds something to send.
func isFull(wait <-chan struct{}) bool {
	select {
	case <-wait:
		return false
	default:
		return wait != nil
	}
}

func TestOutboxIsFullWhileTheEditorReadsNothing(t *testing.T) {
	fill := map[string]func(*outbox){
		"lines": func(o *outbox) {
			for range maxLines {
				_ = o.put([]byte("x\n"))
			}
		},
		"merged text": func(o *outbox) {
			for range maxBytes >> 10 {
				o.sendText(frameA, strings.Repeat("x", 1<<10))
			}
		},
		"bytes": func(o *outbox) { _ = o.put(make([]byte, maxBytes)) },
		"text": func(o *outbox) {
			for range maxBytes/maxText + 1 {
				o.sendText(frameA, strings.Repeat("x", maxText))
			}
		},
	}
	for name, fill := range fill {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &slowWriter{tokens: make(chan struct{})}
				o := newOutbox(w)
				_, _ = o.Write([]byte("taken by the writer\n"))
				synctest.Wait()
				require.Nil(t, o.full())
				fill(o)
				wait := o.full()
				require.True(t, isFull(wait))
				require.Nil(t, o.overfull(), "the editor's requests are still taken")
				for range overfullAt {
					fill(o)
				}
				overfull := o.overfull()
				require.True(t, isFull(overfull))
				close(w.tokens) // the editor is gone
				synctest.Wait()
				require.False(t, isFull(wait))
				require.False(t, isFull(overfull))
				require.Nil(t, o.full())
			})
		})
	}
}

// TestOutboxHasRoomAgain: who waits is told when the editor has read enough, and
// not before.
func TestOutboxHasRoomAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{tokens: make(chan struct{})}
		o := newOutbox(w)
		line := append(bytes.Repeat([]byte("x"), maxBatch), '\n') // one a Write
		for range maxBytes/len(line) + 2 {
			_ = o.put(line)
		}
		synctest.Wait()
		wait := o.full()
		require.True(t, isFull(wait))
		w.tokens <- struct{}{}
		synctest.Wait()
		require.False(t, isFull(wait))
		require.Nil(t, o.full())
		o.close()
		close(w.tokens)
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
		n, err := o.Write([]byte("y\n"))
		require.ErrorIs(t, err, io.ErrClosedPipe)
		require.Zero(t, n)
		o.sendText(frameA, "not written")
	})
}

func TestOutboxMergedTextIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{tokens: make(chan struct{}, 2)}
		o := newOutbox(w)
		_, _ = o.Write([]byte("\n"))
		synctest.Wait()
		piece := strings.Repeat("x", maxText/4+1)
		for range 8 {
			o.sendText(frameA, piece)
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
	frame := TextFrame{`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":`, `}}}}`}
	for b.Loop() {
		o.sendText(frame, "a few words ")
	}
	o.close()
	<-o.done
}

// TestOutboxCutsLongText between characters, and loses none.
func TestOutboxCutsLongText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{tokens: make(chan struct{}, 100)}
		for range cap(w.tokens) {
			w.tokens <- struct{}{}
		}
		o := newOutbox(w)
		text := "x" + strings.Repeat("€", maxText) // 3 bytes each, so that no cut fits
		o.sendText(frameA, text)
		o.close()
		<-o.done
		got := strings.NewReplacer("A:\"", "", "\""+after, "").Replace(w.out.String())
		require.Equal(t, text, got)
		require.Equal(t, 4, strings.Count(w.out.String(), "A:"))
	})
}

// TestOutboxKeepsLinesOfItsOwn: who wrote a line may use its memory again; and a
// closed outbox takes no more.
func TestOutboxKeepsLinesOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{tokens: make(chan struct{}, 10)}
		o := newOutbox(w)
		_, _ = o.Write([]byte("first\n"))
		line := []byte("second\n")
		_, _ = o.Write(line)
		copy(line, "broken")
		for range cap(w.tokens) {
			w.tokens <- struct{}{}
		}
		o.close()
		<-o.done
		require.Equal(t, "first\nsecond\n", w.out.String())
		_, err := o.Write(line)
		require.ErrorIs(t, err, errClosed)
	})
}
