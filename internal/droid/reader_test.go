package droid

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

func TestLineReader(t *testing.T) {
	long := strings.Repeat("a", 3*readBufferSize)
	exact := strings.Repeat("b", readBufferSize)
	want := []string{"x", "", long, exact, exact[1:], "y", "", long, "last"}
	text := strings.Join(want[:2], "\r\n") + "\r\n" + strings.Join(want[2:], "\n")
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(text), "halves": iotest.HalfReader(strings.NewReader(text)), "with EOF": iotest.DataErrReader(strings.NewReader(text)),
	} {
		l := newLineReader(r, stream.MaxLine)
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
	var tooLong *lineTooLong
	_, err := l.next()
	require.ErrorAs(t, err, &tooLong)
	require.EqualValues(t, limit+2, tooLong.size)
	require.Equal(t, over[:lineHead], string(tooLong.head))
	got, err := l.next()
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
	_, err = l.next()
	require.ErrorAs(t, err, &tooLong)
	_, err = l.next()
	require.ErrorIs(t, err, io.EOF)
}

// The memory of a long line is not used again, so what is decoded of it may share
// it. That of a short one is.
func TestLongLineIsOwned(t *testing.T) {
	long := strings.Repeat("a", 2*partSize)
	l := newLineReader(strings.NewReader(long+"\nx\n"+strings.Repeat("b", 2*partSize)+"\n"), stream.MaxLine)
	first, err := l.next()
	require.NoError(t, err)
	require.True(t, l.owned())
	_, err = l.next()
	require.NoError(t, err)
	require.False(t, l.owned())
	_, err = l.next()
	require.NoError(t, err)
	require.Equal(t, long, string(first))
}

func TestLineReaderError(t *testing.T) {
	broken := errors.New("broken")
	l := newLineReader(io.MultiReader(strings.NewReader("x\npart"), iotest.ErrReader(broken)), stream.MaxLine)
	got, err := l.next()
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
	_, err = l.next()
	require.ErrorIs(t, err, broken, "a part of a line is no line")
}

func FuzzLineReader(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), uint16(3))
	f.Fuzz(func(t *testing.T, data []byte, max uint16) {
		l := newLineReader(iotest.OneByteReader(bytes.NewReader(data)), stream.MaxLine)
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

func TestLogTextHoldsNothingOfDroids(t *testing.T) {
	var number struct{ Count string }
	for want, err := range map[string]error{
		`load: droid exited with code 1, after 2 lines on stderr`: fmt.Errorf("load: %w", &ExitError{Code: 1, Started: true, Stderr: []string{"SECRET", "SECRET"}}),
		`interrupt: droid refused with code -32603`:               fmt.Errorf("interrupt: %w", &stream.RPCError{Code: -32603, Message: "SECRET"}),
		`no JSON at byte 2`:                json.Unmarshal([]byte("{SECRET"), &number),
		`a number in the field "Count"`:    json.Unmarshal([]byte(`{"Count":4711}`), &number),
		`working directory is no more`:     errors.New("working directory is no more"),
		`droid was ended by signal "KILL"`: &ExitError{Signal: "KILL", Started: true},
	} {
		require.Equal(t, want, LogText(err))
	}
}
