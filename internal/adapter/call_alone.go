package adapter

import (
	"context"
	"errors"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
)

// callDroid makes one of the calls to droid that wait for each other, see alone, with a droid
// that is started if need be when the call's turn has come; limit is how many messages it is
// then asked for. If there is none, fail is called with the reason. prepare returns the call,
// which runs beside the owner with a context that ends with the session, or none: then it has
// done all there is to do. info is what a droid that was just started said of the session,
// else nil. The owner calls then with the outcome, before the next call begins. If the session
// ends first, then is not called. A droid that dies may not have heard the call, so the
// next one gets it, once.
func callDroid(s *Session, limit int, fail func(*acp.RequestError), prepare func(client *droid.Client, info *stream.SessionInfo) func(ctx context.Context) error, then func(client *droid.Client, err error)) {
	s.alone(func(end func()) {
		again := false
		var try func(info *stream.SessionInfo, err *acp.RequestError)
		try = func(info *stream.SessionInfo, err *acp.RequestError) {
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
			client := s.proc.Client()
			call := prepare(client, info)
			if call == nil {
				return
			}
			under = true
			s.Do(func(ctx context.Context) {
				err := call(ctx)
				s.Post(func() {
					var died *droid.ExitError
					if !again && errors.As(err, &died) {
						again = true
						if s.proc.Client() == client {
							s.awaitEnd() // its events come first
						}
						s.withDroid(limit, try)
						return
					}
					defer end()
					then(client, err)
				})
			}, end)
		}
		s.withDroid(limit, try)
	})
}
