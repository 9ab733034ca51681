package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("a", 3*readBufferSize)
	exact := strings.Repeat("b", readBufferSize)
	want := []string{"x", "", long, exact, exact[1:], "y", "", long, "last"}
	text := strings.Join(want[:2], "\r\n") + "\r\n" + strings.Join(want[2:], "\n")
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(text), "halves": iotest.HalfReader(strings.NewReader(text)), "with EOF": iotest.DataErrReader(strings.NewReader(text)),
	} {
		l := NewLines(r, 1<<30, nil)
		for _, line := range want {
			got, err := l.Next()
			require.NoError(t, err, name)
			require.Equal(t, line, string(got), name)
		}
		_, err := l.Next()
		require.ErrorIs(t, err, io.EOF, name)
	}
}

func TestLinesLimit(t *testing.T) {
	const limit = 2 * readBufferSize
	over := strings.Repeat("a", limit+1)
	var skipped []byte
	l := NewLines(strings.NewReader(over+"\nx\n"+over), limit, func(piece []byte) { skipped = append(skipped, piece...) })
	var tooLong *TooLongError
	_, err := l.Next()
	require.ErrorAs(t, err, &tooLong)
	require.EqualValues(t, limit+2, tooLong.Size)
	require.Equal(t, over, string(skipped))
	got, err := l.Next()
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
	_, err = l.Next()
	require.ErrorAs(t, err, &tooLong)
	_, err = l.Next()
	require.ErrorIs(t, err, io.EOF)
}

// The memory of a long line is not reused, so decoded values may share it. The memory of a short one is reused.
func TestLongLineIsOwned(t *testing.T) {
	long := strings.Repeat("a", 2*partSize)
	l := NewLines(strings.NewReader(long+"\nx\n"+strings.Repeat("b", 2*partSize)+"\n"), 1<<30, nil)
	first, err := l.Next()
	require.NoError(t, err)
	require.True(t, l.Owned())
	_, err = l.Next()
	require.NoError(t, err)
	require.False(t, l.Owned())
	_, err = l.Next()
	require.NoError(t, err)
	require.Equal(t, long, string(first))
}

func TestLinesError(t *testing.T) {
	broken := errors.New("broken")
	l := NewLines(io.MultiReader(strings.NewReader("x\npart"), iotest.ErrReader(broken)), 1<<30, nil)
	got, err := l.Next()
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
	_, err = l.Next()
	require.ErrorIs(t, err, broken, "a part of a line is no line")
}

func FuzzReading(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), uint16(3))
	f.Fuzz(func(t *testing.T, data []byte, max uint16) {
		l := NewLines(iotest.OneByteReader(bytes.NewReader(data)), 1<<30, nil)
		var got [][]byte
		for {
			line, err := l.Next()
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
