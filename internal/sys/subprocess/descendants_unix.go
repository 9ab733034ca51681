//go:build unix

package subprocess

import (
	"maps"
	"time"

	"golang.org/x/sys/unix"
)

// processInfo is a process. Its start time tells it from a later one with the same PID.
type processInfo struct {
	pid     int
	started uint64 // comparable only on one system
	parent  int
	group   int  // process group
	dead    bool // a zombie
	stopped bool // by SIGSTOP or the like
}

// descendants holds the descendants of a process by PID. It is needed since droid runs each tool in a new session, where no signal to its
// process group arrives; when signalled, 0.99 leaves tools running, while 0.225 has a watchdog. This is best effort: a process whose parent
// had exited before the first look is not found.
type descendants map[int]processInfo

// grow removes exited processes and adds all descendants of pid (0 for none) and of those already in t. It reports whether it added any.
func (t descendants) grow(pid int) (more bool, err error) {
	all, err := processes()
	if err != nil {
		return false, err
	}
	now, children := map[int]processInfo{}, map[int][]processInfo{}
	for _, r := range all {
		now[r.pid] = r
		children[r.parent] = append(children[r.parent], r)
	}
	maps.DeleteFunc(t, func(pid int, r processInfo) bool { return now[pid].started != r.started })
	for known := range t {
		t[known] = now[known]
	}
	next := children[pid]
	if pid == 0 {
		next = nil
	}
	for known := range t {
		next = append(next[:len(next):len(next)], children[known]...)
	}
	for ; len(next) > 0; next = next[1:] {
		r := next[0]
		if _, known := t[r.pid]; known {
			continue
		}
		t[r.pid], more = r, true
		next = append(next[:len(next):len(next)], children[r.pid]...)
	}
	return more, nil
}

// maxRounds bounds the rounds of kill, which a fork bomb might outrun.
const maxRounds = 50

// stopPause is the time between two checks that the processes which got SIGSTOP have stopped.
const stopPause = 10 * time.Millisecond

// kill kills the descendants of pid (0 for none), which the caller has sent SIGSTOP, and those already in t. It stops them until a round
// finds no new one. A process stops some time after its signal and may complete a fork before, so the last round begins when all
// have stopped.
func (t descendants) kill(pid int) {
	if pid == 0 && len(t) == 0 {
		return
	}
	rest := false // all had stopped before this look
	for range maxRounds {
		more, err := t.grow(pid)
		if err != nil || !more && rest {
			break
		}
		if rest = t.rest(pid); !rest {
			t.signal(unix.SIGSTOP)
			if !more {
				time.Sleep(stopPause)
			}
		}
	}
	t.signal(unix.SIGKILL)
	clear(t)
}

// rest reports whether a process, 0 for none, and those that are noted have stopped or ended.
func (t descendants) rest(pid int) bool {
	if r, err := processOf(pid); pid != 0 && err == nil && !r.dead && !r.stopped {
		return false
	}
	for _, r := range t {
		if !r.dead && !r.stopped {
			return false
		}
	}
	return true
}

func (t descendants) signal(s unix.Signal) {
	for pid := range t {
		_ = unix.Kill(pid, s) // it may have exited
	}
}
