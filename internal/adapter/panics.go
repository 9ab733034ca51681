package adapter

import (
	"errors"
	"fmt"
	"slices"

	acp "github.com/coder/acp-go-sdk"
)

// A mistake in this program that panics costs one session its turn and its
// process, with a word to the user. All other sessions go on, and whoever waits
// for an answer gets one.

// panicked ends the turn and the process of a session in which something panicked.
// It runs in the owner.
func (s *Session) panicked(p any) {
	s.proc.doom("droid-acp itself failed")
	s.failTurn(panicError(p))
	s.endReplay(panicError(p))
}

// errPanic is why a process was not started.
var errPanic = errors.New("droid-acp failed; the details are in its log")

func panicError(p any) *acp.RequestError {
	return internalError("internal_error", fmt.Sprintf("droid-acp failed: %v. The details are in its log; please report this.", p))
}

// errLost answers what a panic took along.
func errLost() *acp.RequestError {
	return internalError("internal_error", "droid-acp failed while the session worked on this. The details are in its log; please report this.")
}

// has reports whether a prompt runs or waits.
func (s *Session) has(t *turn) bool {
	return s.turn == t || slices.Contains(s.queue, t) || slices.Contains(s.steered, t)
}
