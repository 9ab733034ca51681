package child

import (
	"sync"
	"time"
)

// Kin is the leader of a process group of its own, somewhere below a program that was started here, with what its
// group has. It cannot be mistaken for a later process with its id. Its methods may be called from any goroutine.
type Kin struct {
	id      int
	started uint64 // of the leader

	mu   sync.Mutex
	rest map[int]uint64 // what was left in the group when the leader had ended, by id: when it started; nil before
}

// endPause is how often it is looked whether a group has ended that was told to.
const endPause = 20 * time.Millisecond

// End ends the group: it is asked to, and killed after the time grace. It reports whether it is gone, KillTime after
// that at the latest.
func (k *Kin) End(grace time.Duration) (gone bool) {
	for _, kill := range []bool{false, true} {
		if !k.Runs() {
			return true
		}
		k.signal(kill)
		limit := grace
		if kill {
			limit = KillTime
		}
		for until := time.Now().Add(limit); k.Runs(); time.Sleep(endPause) {
			if !time.Now().Before(until) {
				break
			}
		}
	}
	return !k.Runs()
}
