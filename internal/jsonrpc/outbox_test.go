package jsonrpc

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/jsonrpc/flight"
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

func startOutbox(w io.Writer) *Outbox {
	o := NewOutbox(w, maxBatch)
	go o.Run()
	return o
}

func put(t *testing.T, o *Outbox, line []byte) {
	_, err := o.Put(line)
	require.NoError(t, err)
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
		o := startOutbox(w)
		put(t, o, []byte("first\n"))
		synctest.Wait() // the writer now waits in Write
		o.Text(frameA, "a")
		o.Text(frameA, "b")
		o.Text(frameB, "c")
		put(t, o, []byte("line\n"))
		o.Text(frameB, "d")
		w.tokens <- struct{}{}
		w.tokens <- struct{}{}
		o.Close()
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
	fill := map[string]func(*Outbox){
		"lines": func(o *Outbox) {
			for range maxLines {
				_, _ = o.Put([]byte("x\n"))
			}
		},
		"merged text": func(o *Outbox) {
			for range maxBytes >> 10 {
				o.Text(frameA, strings.Repeat("x", 1<<10))
			}
		},
		"bytes": func(o *Outbox) { _, _ = o.Put(make([]byte, maxBytes)) },
		"text": func(o *Outbox) {
			for range maxBytes/maxText + 1 {
				o.Text(frameA, strings.Repeat("x", maxText))
			}
		},
	}
	for name, fill := range fill {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &slowWriter{tokens: make(chan struct{})}
				o := startOutbox(w)
				_, _ = o.Put([]byte("taken by the writer\n"))
				synctest.Wait()
				require.Nil(t, o.Full())
				fill(o)
				wait := o.Full()
				require.True(t, isFull(wait))
				require.Nil(t, o.Overfull(), "the editor's requests are still taken")
				for range overfullAt {
					fill(o)
				}
				overfull := o.Overfull()
				require.True(t, isFull(overfull))
				close(w.tokens) // the editor is gone
				synctest.Wait()
				require.False(t, isFull(wait))
				require.False(t, isFull(overfull))
				require.Nil(t, o.Full())
			})
		})
	}
}

// TestOutboxHasRoomAgain: waiters are woken when the editor has read enough, and
// not before.
func TestOutboxHasRoomAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{tokens: make(chan struct{})}
		o := startOutbox(w)
		line := append(bytes.Repeat([]byte("x"), maxBatch), '\n') // one a Write
		for range maxBytes/len(line) + 2 {
			_, _ = o.Put(line)
		}
		synctest.Wait()
		wait := o.Full()
		require.True(t, isFull(wait))
		w.tokens <- struct{}{}
		synctest.Wait()
		require.False(t, isFull(wait))
		require.Nil(t, o.Full())
		o.Close()
		close(w.tokens)
		<-o.done
	})
}

func TestOutboxFailsSendersWhenTheEditorIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{tokens: make(chan struct{})}
		close(w.tokens)
		o := startOutbox(w)
		_, _ = o.Put([]byte("x\n"))
		<-o.done
		_, err := o.Put([]byte("y\n"))
		require.ErrorIs(t, err, io.ErrClosedPipe)
		require.ErrorIs(t, o.Err(), io.ErrClosedPipe)
		o.Text(frameA, "not written")
	})
}

// TestOutboxCutsLongText between characters, and loses none.
func TestOutboxCutsLongText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{tokens: make(chan struct{}, 100)}
		for range cap(w.tokens) {
			w.tokens <- struct{}{}
		}
		o := startOutbox(w)
		text := "x" + strings.Repeat("€", maxText) // 3 bytes each, so that no cut fits
		o.Text(frameA, text)
		o.Close()
		<-o.done
		got := strings.NewReplacer("A:\"", "", "\""+after, "").Replace(w.out.String())
		require.Equal(t, text, got)
		require.Equal(t, 4, strings.Count(w.out.String(), "A:"))
	})
}

// TestRemoveQueuedLine: while it waits, and once.
func TestRemoveQueuedLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{tokens: make(chan struct{}, 10)}
		o := startOutbox(w)
		first, _ := o.Put([]byte("first\n"))
		synctest.Wait() // it is in the hands of the writer
		second, _ := o.Put([]byte("second\n"))
		put(t, o, []byte("third\n"))
		require.False(t, o.Remove(first))
		require.True(t, o.Remove(second))
		require.False(t, o.Remove(second))
		require.Equal(t, len("third\n"), o.Size())
		for range cap(w.tokens) {
			w.tokens <- struct{}{}
		}
		o.Close()
		<-o.Done()
		require.Equal(t, "first\nthird\n", w.out.String())
		_, err := o.Put([]byte("late\n"))
		require.ErrorIs(t, err, ErrClosed)
	})
}

// TestAbort drops what waits.
func TestAbort(t *testing.T) {
	w := new(slowWriter)
	o := NewOutbox(w, 0)
	put(t, o, []byte("first\n"))
	o.Abort()
	o.Run()
	require.Empty(t, w.out.String())
	require.Zero(t, o.Size())
}

// roomyWriter writes at once what there is room for.
type roomyWriter struct {
	slowWriter
	room int
}

func (w *roomyWriter) WriteNow(p []byte) int {
	n := min(w.room, len(p))
	w.room -= n
	w.out.Write(p[:n])
	return n
}

// TestPutNow checks that data written at once is not queued, that the rest keeps its place, and that data still belongs to the caller.
func TestPutNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &roomyWriter{slowWriter{tokens: make(chan struct{})}, 9}
		o := startOutbox(w)
		synctest.Wait()
		data := []byte("first\n")
		require.NoError(t, o.PutNow(data))
		require.Equal(t, "first\n", w.out.String())
		copy(data, "SECOND")
		require.NoError(t, o.PutNow([]byte("second\n")))
		synctest.Wait() // the rest is with Run, which waits in Write
		require.Equal(t, "first\nsec", w.out.String())
		w.room = 100
		data = []byte("third\n")
		require.NoError(t, o.PutNow(data))
		copy(data, "THIRD")
		put(t, o, []byte("fourth\n"))
		require.NoError(t, o.PutNow([]byte("fifth\n")))
		require.Equal(t, "first\nsec", w.out.String(), "nothing overtakes it")
		w.tokens <- struct{}{}
		w.tokens <- struct{}{}
		synctest.Wait()
		require.NoError(t, o.PutNow([]byte("sixth\n")))
		require.Equal(t, "first\nsecond\nthird\nfourth\nfifth\nsixth\n", w.out.String())
		o.Close()
		require.ErrorIs(t, o.PutNow([]byte("late\n")), ErrClosed)
		<-o.done
		require.NotContains(t, w.out.String(), "late")
	})
}

// TestPutNowOfAPeerThatIsGone: the error comes as with Put.
func TestPutNowOfAPeerThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &roomyWriter{slowWriter{tokens: make(chan struct{})}, 0}
		close(w.tokens)
		o := startOutbox(w)
		require.NoError(t, o.PutNow([]byte("x\n")))
		<-o.Failed()
		w.room = 100
		require.ErrorIs(t, o.PutNow([]byte("y\n")), io.ErrClosedPipe)
		<-o.done
	})
}

// Written lines are recorded, each separately, and the parts of one text together.
func TestOutboxRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := flight.New(1 << 20)
		o := NewOutbox(io.Discard, maxBatch)
		o.Record(r.Connection("editor"))
		frame := TextFrame{Before: `{"text":`, After: `}`}
		go o.Run()
		for _, text := range []string{"one", "two", "three"} {
			o.Text(frame, text)
			synctest.Wait()
		}
		_, err := o.Put([]byte(`{"id":1}` + "\n"))
		require.NoError(t, err)
		o.Close()
		<-o.Done()
		lines := r.Lines(func(*flight.Connection, string) bool { return true })
		require.Len(t, lines, 2)
		require.Contains(t, lines[0], "> 11 B of text in 3 messages {text:‹3:")
		require.Contains(t, lines[1], "editor > 9 B {id:1}")
	})
}
