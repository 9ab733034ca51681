package adapter

import (
	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/internal/owner"
	"droid-acp/internal/adapter/turns"
)

// inTurn does what the user asks of the session beside prompts, when its turn has come:
// see turns.Change. work calls over when it has its effect, or with why the prompts that
// were meant for it must not be sent.
func (s *Session) inTurn(of turns.Sphere, work func(over func(why error))) *turns.Change {
	var c *turns.Change
	c, actions := s.prompts.Change(of, func() {
		work(func(why error) { s.prompts.Do(s.prompts.Changed(c, why)) })
	})
	s.prompts.Do(actions)
	return c
}

// withdraw takes back what inTurn has not begun to do. It reports false when it has.
func (s *Session) withdraw(c *turns.Change) bool {
	ok, actions := s.prompts.Withdraw(c)
	s.prompts.Do(actions)
	return ok
}

// askInTurn has the owner do some work in its turn, and waits for the answer. While it
// waits for its turn, $/cancel_request takes it back.
func askInTurn[T any](s *Session, c *wire.Call, place *place, of func() turns.Sphere, work func(done func(result T, err *acp.RequestError, why error))) (T, *acp.RequestError) {
	var change *turns.Change // touched by the owner alone
	return owner.Ask(s.Owner, owner.Inquiry[T]{
		Ordered: place.Leave,
		Work: func(answer func(T, *acp.RequestError)) {
			if err := s.takesNothing(); err != nil {
				var none T
				answer(none, err)
				return
			}
			change = s.inTurn(of(), func(over func(error)) {
				if err := s.takesNothing(); err != nil { // the load before it failed
					defer over(nil)
					var none T
					answer(none, err)
					return
				}
				work(func(result T, err *acp.RequestError, why error) {
					answer(result, err)
					if why == nil {
						over(nil)
						return
					}
					// What comes until the editor is told was meant for the change, too.
					c.Response.WhenWritten(func() { s.Post(func() { over(why) }) })
				})
			})
		},
		Context: c.Context,
		Cancelled: func(answer func(T, *acp.RequestError)) {
			if change != nil && s.withdraw(change) {
				owner.RefuseWhenCancelled(answer)
			}
		},
	})
}

// takesNothing is why the session takes no request any more, nil when it does.
func (s *Session) takesNothing() *acp.RequestError {
	if err := s.Refusal(); err != nil {
		return err
	}
	if s.ended {
		return s.EndError()
	}
	return nil
}
