package droid

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc/flight"
)

func deltaLine(message, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","type":"notification","factoryProtocolVersion":"1.220.0","method":"droid.session_notification","params":`+
		`{"notification":{"type":"assistant_text_delta","messageId":%q,"blockIndex":0,"textDelta":%q}}}`+"\n", message, text)
}

// tracedLine returns a delta of 0.225, with its own span.
func tracedLine(message, text, traceparent string) string {
	return strings.TrimSuffix(deltaLine(message, text), "}\n") + `,"_meta":{"traceparent":"` + traceparent + `"}}` + "\n"
}

const (
	span1 = "00-9cc766d37c7f8ad4888a8b33b47c2d04-393c820e99ff7370-01"
	span2 = "00-9cc766d37c7f8ad4888a8b33b47c2d04-d73930bef895b572-01"
)

const stateLine = `{"jsonrpc":"2.0","type":"notification","factoryProtocolVersion":"1.220.0","method":"droid.session_notification","params":` +
	`{"notification":{"type":"droid_working_state_changed","newState":"streaming_assistant_message"}}}` + "\n"

// eventsOf returns the events of droid's output, in separate writes.
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

func TestDeltasReadTogetherAreOneEvent(t *testing.T) {
	lines := deltaLine("a", "one ") + deltaLine("a", "two\n") + deltaLine("a", "three") + deltaLine("b", "four ") + stateLine + deltaLine("b", "five")
	require.Equal(t, []stream.Event{
		stream.TextDelta{MessageID: "a", Text: "one two\nthree"},
		stream.TextDelta{MessageID: "b", Text: "four "},
		stream.WorkingStateChanged{State: "streaming_assistant_message"},
		stream.TextDelta{MessageID: "b", Text: "five"},
	}, eventsOf(t, lines))
}

func TestDeltasWithSpansAreOneEvent(t *testing.T) {
	require.Equal(t, []stream.Event{
		stream.TextDelta{MessageID: "a", Text: "one two"},
		stream.TextDelta{MessageID: "b", Text: "three"},
	}, eventsOf(t, tracedLine("a", "one ", span1)+tracedLine("a", "two", span2)+tracedLine("b", "three", span2)))
}

// A value in the place of a span is parsed, not skipped.
func TestInvalidSpanIsParsed(t *testing.T) {
	broken := `"` + span2[:20] + `"` // as long as a span, and the line is no JSON with it
	behind := `x"},"type":"request","id":"` + strings.Repeat("y", len(span1)-len(`x"},"type":"request","id":"`))
	for _, span := range []string{span2 + "0", "", broken + span2[len(broken):], behind, span2[:54] + `\`, span2[:54] + "\x01"} {
		events := eventsOf(t, tracedLine("a", "one ", span1)+tracedLine("a", "two", span)+tracedLine("a", "three", span1))
		require.Greater(t, len(events), 1, span)
	}
}

// The flight recorder counts all deltas of a message and their text, however many are read together.
func TestDeltasAreRecorded(t *testing.T) {
	r := flight.New(1 << 20)
	in, out := io.Pipe()
	c := NewClient(in, discard{}, nil)
	c.flight = r.Connection("droid") // nothing is read yet
	go func() {
		for _, text := range []string{
			deltaLine("a", "one ") + deltaLine("a", "two") + deltaLine("a", ""), deltaLine("a", "three"), deltaLine("b", "") + deltaLine("b", "") + stateLine + deltaLine("b", "four"),
		} {
			_, _ = io.WriteString(out, text) // read to its end, below
		}
		_ = out.Close()
	}()
	for range c.Events() {
	}
	lines := r.Lines(func(*flight.Connection, string) bool { return true })
	require.Len(t, lines, 4)
	require.Contains(t, lines[0], " droid < 12 B of text in 4 messages ")
	require.Contains(t, lines[1], " droid < 0 B of text in 2 messages ")
	require.Contains(t, lines[2], "droid_working_state_changed")
	require.Contains(t, lines[3], " droid < 4 B of text in 1 messages ")
}

// A delta that is written otherwise than those before it is not taken for the beginning of theirs.
func TestDeltaOfAnotherShape(t *testing.T) {
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
			case 2, 3:
				lines = append(lines, tracedLine("a", "t", span1[:53]+strconv.Itoa(10+random.IntN(90))))
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

// readAll returns the results of the reader's reads, and the times at which they returned.
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

func TestBurstsAreReadTogether(t *testing.T) {
	const each = 38 * time.Microsecond // what droid 0.225 writes at its fastest
	for _, size := range []int{1, 420, 700} {
		synctest.Test(t, func(t *testing.T) {
			var lines []scripted
			var want []time.Duration
			for i := range burstAfter + 500 {
				lines = append(lines, scripted{time.Duration(i) * each, strings.Repeat("x", size)})
				if i <= burstAfter {
					want = append(want, lines[i].at)
				}
			}
			when, texts := readAll(t, lines...)
			for want[len(want)-1] < lines[len(lines)-1].at {
				want = append(want, want[len(want)-1]+burstPause)
			}
			require.Equal(t, want, when, "the first at once, the rest together")
			require.Equal(t, len(lines)*size, len(strings.Join(texts, "")))
		})
	}
}

func TestSlowLinesAreReadAtOnce(t *testing.T) {
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
		for range 2 * burstAfter {
			lines = append(lines, scripted{0, strings.Repeat("x", 60<<10)})
		}
		when, _ := readAll(t, lines...)
		require.Equal(t, make([]time.Duration, len(lines)), when)
	})
}
