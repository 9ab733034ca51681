package droid

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestLineReader(t *testing.T) {
	long := strings.Repeat("a", 3*readBufferSize)
	exact := strings.Repeat("b", readBufferSize)
	want := []string{"x", "", long, exact, exact[1:], "y", "", long, "last"}
	text := strings.Join(want[:2], "\r\n") + "\r\n" + strings.Join(want[2:], "\n")
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(text), "halves": iotest.HalfReader(strings.NewReader(text)), "with EOF": iotest.DataErrReader(strings.NewReader(text)),
	} {
		l := newLineReader(r, maxLine)
		for _, line := range want {
			got, err := l.next()
			require.NoError(t, err, name)
			require.Equal(t, line, string(got), name)
		}
		_, err := l.next()
		require.ErrorIs(t, err, io.EOF, name)
	}
}

func TestLineReaderLimit(t *testing.T) {
	const limit = 2 * readBufferSize
	over := strings.Repeat("a", limit+1)
	l := newLineReader(strings.NewReader(over+"\nx\n"+over), limit)
	_, err := l.next()
	require.ErrorIs(t, err, errLineTooLong)
	got, err := l.next()
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
	_, err = l.next()
	require.ErrorIs(t, err, errLineTooLong)
	_, err = l.next()
	require.ErrorIs(t, err, io.EOF)
}

// The buffer of a huge line is given back with the next line.
func TestLineReaderShrinks(t *testing.T) {
	l := newLineReader(strings.NewReader(strings.Repeat("a", 2*keepLineBuffer)+"\nx\n"), maxLine)
	_, err := l.next()
	require.NoError(t, err)
	require.Greater(t, cap(l.long), keepLineBuffer)
	_, err = l.next()
	require.NoError(t, err)
	require.Zero(t, cap(l.long))
}

func TestLineReaderError(t *testing.T) {
	broken := errors.New("broken")
	l := newLineReader(io.MultiReader(strings.NewReader("x\npart"), iotest.ErrReader(broken)), maxLine)
	got, err := l.next()
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
	_, err = l.next()
	require.ErrorIs(t, err, broken, "a part of a line is no line")
}

func FuzzLineReader(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), uint16(3))
	f.Fuzz(func(t *testing.T, data []byte, max uint16) {
		l := newLineReader(iotest.OneByteReader(bytes.NewReader(data)), maxLine)
		var got [][]byte
		for {
			line, err := l.next()
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				break
			}
			got = append(got, bytes.Clone(line))
		}
		want := bytes.Split(data, []byte("\n"))
		if len(want[len(want)-1]) == 0 {
			want = want[:len(want)-1]
		}
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, string(bytes.TrimSuffix(want[i], []byte("\r"))), string(got[i]))
		}
	})
}

func TestTail(t *testing.T) {
	var seen int
	tail := &tail{onLine: func(string) { seen++ }}
	for i := range stderrLines + 5 {
		fmt.Fprintf(tail, "line ")
		fmt.Fprintf(tail, "%d\r\n\n", i)
	}
	lines := tail.last()
	require.Len(t, lines, stderrLines)
	require.Equal(t, "line 5", lines[0])
	require.Equal(t, stderrLines+5, seen)

	fmt.Fprint(tail, strings.Repeat("x", stderrLineMax-1)+"\xff\xff"+strings.Repeat("y", 1<<20))
	lines = tail.last()
	require.Equal(t, strings.Repeat("x", stderrLineMax-1)+"\uFFFD", lines[stderrLines-1])
	require.LessOrEqual(t, cap(tail.partial), 2*stderrLineMax)
}

func TestExitErrorText(t *testing.T) {
	for want, e := range map[string]ExitError{
		`droid exited with code 1 before it said anything: a` + "\n" + `b`: {Code: 1, Stderr: []string{"a", "b"}},
		`droid exited with code 0`: {Started: true},
		`droid was ended by signal "SIGKILL", by another program or because memory ran out: a`: {Code: -1, Signal: "SIGKILL", Started: true, Stderr: []string{"a"}},
		`droid was killed by droid-acp`:                                               {Code: -1, Signal: "SIGKILL", Started: true, Requested: true},
		`droid was killed by droid-acp, because it was mute, before it said anything`: {Code: -1, KilledFor: "it was mute"},
		`droid is gone before it said anything (EOF)`:                                 {Code: -1, Err: io.EOF},
	} {
		require.EqualError(t, &e, want)
	}
	require.ErrorIs(t, &ExitError{Err: io.EOF}, io.EOF)
}
