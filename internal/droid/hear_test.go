package droid

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

func deltaLine(message, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","type":"notification","factoryProtocolVersion":"1.220.0","method":"droid.session_notification","params":`+
		`{"notification":{"type":"assistant_text_delta","messageId":%q,"blockIndex":0,"textDelta":%q}}}`+"\n", message, text)
}

const stateLine = `{"jsonrpc":"2.0","type":"notification","factoryProtocolVersion":"1.220.0","method":"droid.session_notification","params":` +
	`{"notification":{"type":"droid_working_state_changed","newState":"streaming_assistant_message"}}}` + "\n"

// eventsOf are the events of what droid writes, in writes of their own.
func eventsOf(t *testing.T, writes ...string) (all []stream.Event) {
	t.Helper()
	r, w := io.Pipe()
	c := NewClient(r, discard{}, nil)
	go func() {
		for _, text := range writes {
			_, _ = io.WriteString(w, text) // read to its end, below
		}
		_ = w.Close()
	}()
	for e := range c.Events() {
		all = append(all, e)
	}
	return all
}

func TestDeltasThatAreReadTogetherAreOneEvent(t *testing.T) {
	lines := deltaLine("a", "one ") + deltaLine("a", "two\n") + deltaLine("a", "three") + deltaLine("b", "four ") + stateLine + deltaLine("b", "five")
	require.Equal(t, []stream.Event{
		stream.TextDelta{MessageID: "a", Text: "one two\nthree"},
		stream.TextDelta{MessageID: "b", Text: "four "},
		stream.WorkingStateChanged{State: "streaming_assistant_message"},
		stream.TextDelta{MessageID: "b", Text: "five"},
	}, eventsOf(t, lines))
}

// A delta that is written otherwise than those before it is not taken for the beginning of theirs.
func TestADeltaOfAnotherShapeHasItsOwnText(t *testing.T) {
	other := strings.Replace(deltaLine("b", "four"), `"blockIndex":0`, `"blockIndex":0.0`, 1)
	other2 := strings.Replace(deltaLine("b", "four"), `"blockIndex":0,`, ``, 1)
	for _, line := range []string{other, other2} {
		texts := map[string]string{}
		for _, e := range eventsOf(t, deltaLine("a", "one ")+line+deltaLine("a", "two")) {
			if d, ok := e.(stream.TextDelta); ok {
				texts[d.MessageID] += d.Text
			}
		}
		require.Equal(t, "one two", texts["a"], line)
	}
}

// A text that is read with the beginning of a line does not wait for the end of that line.
func TestADeltaWaitsForNoOtherLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		c := NewClient(r, discard{}, nil)
		next := deltaLine("a", "two")
		_, err := io.WriteString(w, deltaLine("a", "one ")+next[:40])
		require.NoError(t, err)
		require.Equal(t, stream.TextDelta{MessageID: "a", Text: "one "}, <-c.Events())
		_, err = io.WriteString(w, next[40:])
		require.NoError(t, err)
		require.Equal(t, stream.TextDelta{MessageID: "a", Text: "two"}, <-c.Events())
		require.NoError(t, w.Close())
		<-c.Exited()
	})
}

// However droid's lines are cut into writes, the same is said in the same order.
func TestWritesOfAnyLengthSayTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	said := func(events []stream.Event) string {
		var b strings.Builder
		last := ""
		for _, e := range events {
			d, ok := e.(stream.TextDelta)
			if !ok || d.MessageID != last {
				_, _ = fmt.Fprintf(&b, "\n%s %s: ", e.Kind(), d.MessageID)
			}
			last = d.MessageID
			b.WriteString(d.Text)
		}
		return b.String()
	}
	for range 200 {
		var lines []string
		for range random.IntN(40) {
			switch random.IntN(8) {
			case 0:
				lines = append(lines, stateLine)
			case 1:
				lines = append(lines, deltaLine("b", "“b”"))
			default:
				lines = append(lines, deltaLine("a", string(rune('a'+random.IntN(26)))+"\\"))
			}
		}
		all := strings.Join(lines, "")
		var cut []string
		for rest := all; rest != ""; {
			n := min(len(rest), 1+random.IntN(2000))
			cut, rest = append(cut, rest[:n]), rest[n:]
		}
		require.Equal(t, said(eventsOf(t, lines...)), said(eventsOf(t, cut...)))
	}
}

// script is a stdout whose lines come at times.
type script struct {
	began time.Time
	lines []scripted
}

type scripted struct {
	at   time.Duration
	text string
}

// Read waits for the next line, and gets all that have come by then.
func (s *script) Read(p []byte) (n int, err error) {
	if len(s.lines) == 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Until(s.began.Add(s.lines[0].at)))
	for len(s.lines) > 0 && s.lines[0].at <= time.Since(s.began) && n+len(s.lines[0].text) <= len(p) {
		n += copy(p[n:], s.lines[0].text)
		s.lines = s.lines[1:]
	}
	return n, nil
}

// readAll says when each read of the reader ended, and what it brought.
func readAll(t *testing.T, lines ...scripted) (when []time.Duration, texts []string) {
	t.Helper()
	s := &script{began: time.Now(), lines: lines}
	b := &burstReader{r: s}
	buf := make([]byte, 64<<10)
	for {
		n, err := b.Read(buf)
		if err != nil {
			require.Equal(t, io.EOF, err)
			return when, texts
		}
		when, texts = append(when, time.Since(s.began)), append(texts, string(buf[:n]))
	}
}

func TestBurstsAreReadOnceAMillisecond(t *testing.T) {
	const us = time.Microsecond
	synctest.Test(t, func(t *testing.T) {
		var lines []scripted
		var want []time.Duration
		for i := range burstAfter + 100 {
			lines = append(lines, scripted{time.Duration(i) * 40 * us, "x"})
			if i <= burstAfter {
				want = append(want, lines[i].at)
			}
		}
		when, texts := readAll(t, lines...)
		for range 4 {
			want = append(want, want[len(want)-1]+burstPause)
		}
		require.Equal(t, want, when, "the first at once, the rest together")
		require.Equal(t, len(lines), len(strings.Join(texts, "")))
	})
}

func TestLinesThatComeSlowlyAreReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []scripted
		var want []time.Duration
		for i := range 20 {
			at := time.Duration(i) * 10 * time.Millisecond
			lines, want = append(lines, scripted{at, "x"}), append(want, at)
		}
		when, _ := readAll(t, lines...)
		require.Equal(t, want, when)
	})
}

func TestBulkIsReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []scripted
		for range 20 {
			lines = append(lines, scripted{0, strings.Repeat("x", 60<<10)})
		}
		when, _ := readAll(t, lines...)
		require.Equal(t, make([]time.Duration, 20), when)
	})
}
