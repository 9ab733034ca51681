package session

import (
	"fmt"
	"runtime/debug"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/acperr"
)

// A panic in this program costs one session its turn and its process, and the user reads so. All other sessions continue, and every pending
// request is answered.

// panicked ends the turn and the process of a session in which something panicked. The caller has the session's lock.
func (s *Session) panicked(p any) {
	defer func() {
		if again := recover(); again != nil {
			s.logPanic("panic after a panic", again)
		}
	}()
	s.logPanic("panic", p)
	s.reportFault(fmt.Sprintf("droid-acp itself failed: %v\n%s", p, debug.Stack()))
	s.endDroid(killed, "droid-acp itself failed")
	s.loseChanges(acperr.Panicked(p)) // before a command that makes one ends, and with it what was meant for that
	s.prompts.FailRunning(acperr.Panicked(p))
	s.loseLoads(acperr.Panicked(p))
}

func (s *Session) logPanic(text string, p any) {
	s.log.Error(text, zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
}
