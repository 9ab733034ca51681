package jsonrpc

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// The limits of this package at their edges, in numbers: who changes one meets it
// here.

func TestLongestLineToTheByte(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 7 s of a processor with the race detector")
	}
	head, tail := `{"jsonrpc":"2.0","id":5,"method":"m","params":{"x":"`, `"}}`
	longest := head + strings.Repeat("a", 10<<20-64-len(head)-len(tail)) + tail
	for _, end := range []string{"", "\n", "\r\n"} {
		passed, answers := readThrough(t, strings.NewReader(longest+end))
		require.Empty(t, answers)
		require.Equal(t, []string{longest}, passed)
	}
	longer := head + "a" + longest[len(head):]
	passed, answers := readThrough(t, strings.NewReader(longer))
	require.Empty(t, passed)
	require.Len(t, answers, 1)
}

// TestDeepestMessage: encoding/json accepts 10,000 levels; one of fewer that
// is refused is not refused for them.
func TestDeepestMessage(t *testing.T) {
	levels := func(n int) string { return strings.Repeat("[", n-1) + strings.Repeat("]", n-1) }
	good := `{"jsonrpc":"2.0","id":1,"method":"m","params":` + levels(10_000) + `}`
	passed, answers := readThrough(t, strings.NewReader(good))
	require.Equal(t, []string{good}, passed)
	require.Empty(t, answers)
	_, answers = readThrough(t, strings.NewReader(strings.Replace(good, "2.0", "1.0", 1)))
	require.Contains(t, answers[0], `\"jsonrpc\" must be`)
	_, answers = readThrough(t, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"m","params":`+levels(10_001)+`}`))
	require.Contains(t, answers[0], "the message has more than 10000 levels of lists and objects")
}

// TestLongestID: one of 64 KiB and more is not kept, nor is more of any word.
func TestLongestID(t *testing.T) {
	const limit = 64 << 10
	for length, known := range map[int]bool{limit - 1: true, limit: false, limit + 1: false} {
		id := `"` + strings.Repeat("a", length-2) + `"`
		_, answers := readThrough(t, strings.NewReader(`{"jsonrpc":"1.0","id":`+id+`,"method":"m"}`))
		got, _ := answerOf(t, answers[0])
		require.Equal(t, known, got == id)
		require.Equal(t, !known, got == "null")
	}
	o := new(rejectedScanner)
	o.scan([]byte(`{"id":1` + strings.Repeat("0", 3*limit)))
	require.Len(t, o.kept, limit, "a long word")
}

// TestOutboxLimits checks that the outbox is full at 1024 lines or 2 MiB, holds at most four times as much of answers to the editor,
// and has room again below both limits.
func TestOutboxLimits(t *testing.T) {
	fill := func(o *Outbox, lines, size int) {
		for range lines {
			put(t, o, make([]byte, size))
		}
	}
	for name, tc := range map[string]struct{ lines, size int }{
		"lines": {1024, 1},
		"bytes": {2 << 7, 8 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &slowWriter{tokens: make(chan struct{})}
				o := startOutbox(w)
				fill(o, 1, 1)
				synctest.Wait() // the writer waits with it
				fill(o, tc.lines-1, tc.size)
				require.Nil(t, o.Full())
				fill(o, 1, tc.size)
				require.NotNil(t, o.Full())
				require.Equal(t, o.Full(), o.Full(), "one channel for all who wait")
				fill(o, 3*tc.lines-1, tc.size)
				require.Nil(t, o.Overfull())
				fill(o, 1, tc.size)
				require.NotNil(t, o.Overfull())
				o.Close()
				require.Nil(t, o.Full(), "a closed one makes nobody wait")
				require.Nil(t, o.Overfull())
				close(w.tokens)
				<-o.done
			})
		})
	}
}

// TestRoomIsOfLinesAndBytes checks that a few long lines fill the outbox, as do many short ones.
func TestRoomIsOfLinesAndBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{tokens: make(chan struct{}, 1)}
		o := startOutbox(w)
		put := func(lines, size int) {
			for range lines {
				put(t, o, make([]byte, size))
			}
			synctest.Wait()
		}
		put(1, 1) // in the hands of the writer
		put(1, 256<<10)
		put(8, 256<<10) // 9 lines and more than 2 MiB
		room := o.Full()
		w.tokens <- struct{}{}
		synctest.Wait()
		require.True(t, isFull(room), "2 MiB still wait")
		w.tokens <- struct{}{}
		synctest.Wait()
		require.False(t, isFull(room))

		put(1024, 1)
		room = o.Full()
		w.tokens <- struct{}{}
		synctest.Wait()
		require.True(t, isFull(room), "1024 lines still wait")
		o.Close()
		close(w.tokens)
		<-o.done
	})
}

// TestBatches: what waits is written together up to 256 KiB a Write, and a longer
// line by itself.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{tokens: make(chan struct{})}
		o := startOutbox(w)
		for _, size := range []int{1, 128 << 10, 128 << 10, 128 << 10, 128<<10 + 1, 300 << 10, 1, 1, 256 << 10} {
			put(t, o, make([]byte, size))
			synctest.Wait()
		}
		o.Close()
		var sizes []int
		for before := 0; ; before = w.out.Len() {
			synctest.Wait()
			select {
			case <-o.done:
				require.Equal(t, []int{1, 256 << 10, 128 << 10, 128<<10 + 1, 300 << 10, 2, 256 << 10}, sizes)
				return
			case w.tokens <- struct{}{}:
				synctest.Wait()
				sizes = append(sizes, w.out.Len()-before)
			}
		}
	})
}

// TestLongestText of one line is 64 KiB, in one piece or in several.
func TestLongestText(t *testing.T) {
	const limit = 64 << 10
	for name, tc := range map[string]struct {
		pieces []int
		lines  int
	}{
		"one piece":            {[]int{limit}, 1},
		"one piece, too long":  {[]int{limit + 1}, 2},
		"several":              {[]int{limit - 2, 1, 1}, 1},
		"several, too long":    {[]int{limit - 2, 1, 1, 1}, 2},
		"behind one too long":  {[]int{limit + 1, limit - 1}, 2},
		"behind one, too long": {[]int{limit + 1, limit}, 3},
		"three in one":         {slices.Repeat([]int{limit/4 + 1}, 8), 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &slowWriter{tokens: make(chan struct{}, 9)}
				o := startOutbox(w)
				put(t, o, []byte("\n"))
				synctest.Wait()
				total := 0
				for _, size := range tc.pieces {
					o.Text(frameA, strings.Repeat("x", size))
					total += size
				}
				require.Equal(t, total, o.bytes)
				for range cap(w.tokens) {
					w.tokens <- struct{}{}
				}
				o.Close()
				<-o.done
				require.Equal(t, tc.lines, strings.Count(w.out.String(), "A:"))
				require.Equal(t, total, strings.Count(w.out.String(), "x"))
				require.Zero(t, o.bytes)
			})
		})
	}
}

// TestTextWithoutCharacters checks that a text without the start of a character is still cut, at most four bytes before the limit.
func TestTextWithoutCharacters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{tokens: make(chan struct{}, 9)}
		for range cap(w.tokens) {
			w.tokens <- struct{}{}
		}
		o := startOutbox(w)
		o.Text(frameA, strings.Repeat("\x80", 64<<10-4+64<<10))
		o.Close()
		<-o.done
		require.Equal(t, 2, strings.Count(w.out.String(), "A:"))
	})
}
