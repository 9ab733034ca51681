//go:build unix

package subprocess

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// DescendantGroup returns the process group of the leader with this ID among the descendants of the program, or nil if there is no such
// leader or it has exited. The error means that this is unknown.
func (p *Process) DescendantGroup(id int) (*ProcessGroup, error) {
	below := descendants{}
	if _, err := below.grow(p.ID()); err != nil {
		return nil, fmt.Errorf("looking at the processes: %w", err)
	}
	r, found := below[id]
	if !found || r.group != id || r.dead {
		return nil, nil
	}
	return &ProcessGroup{id: id, started: r.started}, nil
}

// clockTolerance is the tolerance of GroupRunning, since the clock may have been set.
const clockTolerance = time.Minute

// GroupRunning reports whether a process group with this ID exists whose leader was started around then. The start time tells it from a later
// group with the same ID.
func GroupRunning(id int, then time.Time) (runs bool, err error) {
	if id <= 1 || errors.Is(unix.Kill(-id, 0), unix.ESRCH) { // it exists also where a signal is not permitted
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
		case at.Before(then.Add(-clockTolerance)), r.pid == id && at.After(then.Add(clockTolerance)):
			return false, nil
		}
		runs = true
	}
	return runs, nil
}

// Runs reports whether the leader runs, or if it has exited, whether anything that it left in its group does. It returns false if that is
// unknown.
func (k *ProcessGroup) Runs() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rest == nil {
		if r, err := processOf(k.id); err == nil && !r.dead && r.started == k.started {
			return true
		}
	}
	all, err := processes()
	now := make(map[int]uint64)
	ours := k.rest == nil // the ID is not reused while the group has members
	for _, r := range all {
		switch {
		case r.group != k.id || r.dead:
		case r.pid == k.id && r.started != k.started:
			return false // the ID was reused
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

func (k *ProcessGroup) signal(kill bool) {
	s := unix.SIGTERM
	if kill {
		s = unix.SIGKILL
	}
	_ = unix.Kill(-k.id, s) // it may have exited
}
