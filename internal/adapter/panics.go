package adapter

import "droid-acp/internal/adapter/problem"

// A mistake in this program that panics costs one session its turn and its
// process, with a word to the user. All other sessions go on, and whoever waits
// for an answer gets one.

// panicked ends the turn and the process of a session in which something panicked.
// It runs in the owner.
func (s *Session) panicked(p any) {
	s.endDroid(killed, "droid-acp itself failed")
	s.prompts.LoseChanges(problem.Panicked(p)) // before a command that makes one ends, and with it what was meant for that
	s.prompts.FailRunning(problem.Panicked(p))
	s.loseLoads(problem.Panicked(p))
}
