package adapter

import (
	"context"
	"errors"

	"droid-acp/internal/droid"
)

// errDroidGone is why a call failed that had to wait for others.
var errDroidGone = errors.New("droid has ended meanwhile")

// callAlone makes one of the calls to droid that wait for each other, see alone.
// When it is this one's turn, prepare makes the call, which runs beside the owner;
// its context ends with the session. The owner then does then with what came of
// it, before the next call begins. Where droid ended while the call waited, then is
// done at once, without a client and with errDroidGone. When the session ends
// before, then is not done.
func callAlone[T any](s *Session, prepare func(client *droid.Client) func(ctx context.Context) (T, error), then func(client *droid.Client, result T, err error)) {
	s.alone(func(end func()) {
		client := s.proc.client()
		if client == nil {
			defer end()
			var none T
			then(nil, none, errDroidGone)
			return
		}
		call := prepare(client)
		s.do(func(ctx context.Context) {
			result, err := call(ctx)
			s.post(func() {
				defer end()
				then(client, result, err)
			})
		}, end)
	})
}
