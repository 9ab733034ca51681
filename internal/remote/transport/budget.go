package transport

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
)

// budget is how many bytes of messages may be read at once, for all clients together.
type budget struct{ left atomic.Int64 }

func (b *budget) take(n int64) bool {
	if b.left.Add(-n) < 0 {
		b.left.Add(n)
		return false
	}
	return true
}

// errBusy means that all clients together send too much at once.
var errBusy = errors.New("the server reads too many large messages at once; try again")

// gather reads a message of at most limit bytes, piece by piece. The caller calls release when it has used the message, also after an
// error. step is called before each piece.
func (b *budget) gather(r io.Reader, limit int64, step func()) (text []byte, release func(), err error) {
	var taken int64
	release = func() { b.left.Add(taken) }
	for {
		step()
		if len(text) == cap(text) {
			grown := min(max(4<<10, 2*cap(text)), int(limit)+1)
			if !b.take(int64(grown - cap(text))) {
				return nil, release, errBusy
			}
			taken += int64(grown - cap(text))
			text = append(make([]byte, 0, grown), text...)
		}
		n, err := r.Read(text[len(text):min(cap(text), len(text)+pieceSize)])
		text = text[:len(text)+n]
		switch {
		case int64(len(text)) > limit:
			return nil, release, &http.MaxBytesError{Limit: limit}
		case errors.Is(err, io.EOF):
			return text, release, nil
		case err != nil:
			return nil, release, err
		}
	}
}
