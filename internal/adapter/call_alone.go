package adapter

import (
	"context"
	"errors"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
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
		callWith(s, client, prepare(client), then, end)
	})
}

// callDroid is callAlone with a droid that is started if need be when the call's turn has
// come. If there is none, fail is called with the reason. prepare may return no call: then
// it has done all there is to do.
func callDroid[T any](s *Session, fail func(*acp.RequestError), prepare func(client *droid.Client) func(ctx context.Context) (T, error), then func(result T, err error)) {
	s.alone(func(end func()) {
		s.withDroid(1, func(_ *stream.SessionInfo, err *acp.RequestError) {
			under := false
			defer func() {
				if !under { // also where this panics
					end()
				}
			}()
			if err != nil {
				fail(err)
				return
			}
			client := s.proc.client()
			call := prepare(client)
			if call == nil {
				return
			}
			under = true
			callWith(s, client, call, func(_ *droid.Client, result T, err error) { then(result, err) }, end)
		})
	})
}

// callWith makes a call beside the owner, which calls then with the outcome, and end.
func callWith[T any](s *Session, client *droid.Client, call func(ctx context.Context) (T, error), then func(client *droid.Client, result T, err error), end func()) {
	s.do(func(ctx context.Context) {
		result, err := call(ctx)
		s.post(func() {
			defer end()
			then(client, result, err)
		})
	}, end)
}
