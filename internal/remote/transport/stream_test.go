package transport

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func ids(batch []event) (all []uint64) {
	for _, e := range batch {
		all = append(all, e.id)
	}
	return all
}

func TestStream(t *testing.T) {
	s := &stream{}
	require.NoError(t, s.resume(0), "nothing was sent, nothing is missing")
	require.ErrorIs(t, s.resume(1), errUnknown)
	half := []byte(strings.Repeat("x", pieceSize/2))
	for range 5 {
		s.add(event{data: half})
	}
	require.Equal(t, []uint64{1, 2}, ids(s.batch()))
	require.Equal(t, pieceSize, s.wrote(2))
	require.Equal(t, []uint64{3, 4}, ids(s.batch()))
	s.wrote(2)
	require.NoError(t, s.resume(3))
	require.Equal(t, []uint64{4, 5}, ids(s.batch()))
	require.Equal(t, pieceSize, s.waiting)
	require.NoError(t, s.resume(0))
	require.Equal(t, 5*len(half), s.waiting)
	require.Zero(t, s.kept)
	s.wrote(5)
	require.Empty(t, s.batch())

	large := []byte(strings.Repeat("x", ringSize))
	s.add(event{data: large})
	require.Equal(t, []uint64{6}, ids(s.batch()), "also one that is larger than a piece")
	s.wrote(1)
	require.NoError(t, s.resume(5), "the newest is kept if it fits")
	s.wrote(1)
	require.ErrorIs(t, s.resume(4), errForgotten)
	s.add(event{data: append(large, 'x')})
	s.wrote(1)
	require.ErrorIs(t, s.resume(6), errForgotten)
	require.NoError(t, s.resume(7))
	require.Zero(t, s.kept)
	require.Zero(t, s.waiting)
}

// The answer to a load waits for what was loaded, as far as somebody reads that.
func TestStreamBehindAnother(t *testing.T) {
	own, session := &stream{}, &stream{reader: &reader{}}
	session.add(event{data: []byte("told")})
	session.add(event{data: []byte("told, too")})
	own.add(event{data: []byte("answer"), behind: session, upTo: session.last})
	own.add(event{data: []byte("next")})
	session.add(event{data: []byte("later")})
	require.Empty(t, own.batch())
	session.wrote(1)
	require.Empty(t, own.batch())
	session.wrote(1)
	require.Equal(t, []uint64{1, 2}, ids(own.batch()))
	require.NoError(t, session.resume(0))
	require.Empty(t, own.batch())
	session.reader = nil
	require.Len(t, own.batch(), 2)
}
