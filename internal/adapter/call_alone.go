package adapter

import (
	"context"
	"errors"

	"droid-acp/internal/droid"
)

// errDroidGone is why a call failed: droid ended while it waited for other calls.
var errDroidGone = errors.New("droid has ended meanwhile")

// callAlone makes one of the calls to droid that wait for each other, see alone.
// When its turn has come, prepare returns the call, which runs beside the owner with
// a context that ends with the session. The owner then calls then with the outcome,
// before the next call begins. If droid ended while the call waited, then gets a nil
// client and errDroidGone. If the session ends first, then is not called.
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
