//go:build unix

package child

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Kin finds the leader of a process group among what the program has started, and what that has. It is nil where the
// process with this id is no such leader, or has ended. An error says that it cannot be told.
func (p *Process) Kin(id int) (*Kin, error) {
	below := tree{}
	if _, err := below.grow(p.ID()); err != nil {
		return nil, fmt.Errorf("looking at the processes: %w", err)
	}
	r, found := below[id]
	if !found || r.group != id || r.dead {
		return nil, nil
	}
	return &Kin{id: id, started: r.started}, nil
}

// aboutThen is how far the clock may be from what it was when a process was started.
const aboutThen = time.Minute

// GroupRuns reports whether something of this user's runs in the process group with this id whose leader was started about then: a
// later process may have got its id.
func GroupRuns(id int, then time.Time) (runs bool, err error) {
	if id <= 1 || unix.Kill(-id, 0) != nil {
		return false, nil
	}
	all, err := processes()
	if err != nil {
		return false, fmt.Errorf("looking at the processes: %w", err)
	}
	for _, r := range all {
		if r.group != id || r.dead {
			continue
		}
		at, err := r.startedAt()
		switch {
		case err != nil:
			return false, fmt.Errorf("looking when a process was started: %w", err)
		case at.Before(then.Add(-aboutThen)), r.pid == id && at.After(then.Add(aboutThen)):
			return false, nil
		}
		runs = true
	}
	return runs, nil
}

// Runs reports whether the leader runs, or, where it has ended, something that it left in its group. Where the system
// cannot tell, it does not.
func (k *Kin) Runs() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rest == nil {
		if r, err := processOf(k.id); err == nil && !r.dead && r.started == k.started {
			return true
		}
	}
	all, err := processes()
	now := make(map[int]uint64)
	ours := k.rest == nil // no other group gets the id as long as the group has somebody
	for _, r := range all {
		switch {
		case r.group != k.id || r.dead:
		case r.pid == k.id && r.started != k.started:
			return false // it is another's by now
		default:
			now[r.pid] = r.started
			ours = ours || k.rest[r.pid] == r.started
		}
	}
	k.rest = now
	if err != nil || !ours {
		clear(k.rest)
	}
	return len(k.rest) > 0
}

func (k *Kin) signal(kill bool) {
	s := unix.SIGTERM
	if kill {
		s = unix.SIGKILL
	}
	_ = unix.Kill(-k.id, s) // it may have ended meanwhile
}
