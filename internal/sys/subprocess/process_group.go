package subprocess

import (
	"sync"
	"time"
)

// ProcessGroup is a process group, with its own leader, among the descendants of a program. It records start times, so that a later process
// with the same ID is not mistaken for it. Its methods may be called from any goroutine.
type ProcessGroup struct {
	id      int
	started uint64 // start time of the leader

	mu   sync.Mutex
	rest map[int]uint64 // start times, by ID, of what the leader left in the group; nil while it runs
}

// stopPollInterval is the interval at which End checks whether a group has exited.
const stopPollInterval = 20 * time.Millisecond

// End sends SIGTERM to the group, and SIGKILL after grace. It reports whether the group is gone, at most killTimeout after that.
func (k *ProcessGroup) End(grace time.Duration) (gone bool) {
	for _, kill := range []bool{false, true} {
		if !k.Runs() {
			return true
		}
		k.signal(kill)
		limit := grace
		if kill {
			limit = killTimeout
		}
		for until := time.Now().Add(limit); k.Runs(); time.Sleep(stopPollInterval) {
			if !time.Now().Before(until) {
				break
			}
		}
	}
	return !k.Runs()
}
