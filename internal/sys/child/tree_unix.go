//go:build unix

package child

import (
	"maps"
	"time"

	"golang.org/x/sys/unix"
)

// relative is a process that cannot be mistaken for a later one with its pid.
type relative struct {
	pid     int
	started uint64 // when; comparable on one system alone
	parent  int
	group   int  // its process group
	dead    bool // it has ended, and nobody has asked how
	stopped bool // by SIGSTOP or the like
}

// tree are the descendants of a process, by their pids. droid, for one, runs each tool in a
// session of its own, where no signal to a process group reaches it, and 0.99 leaves tools
// running when it is signalled (0.225 has a watchdog). This is best effort: a process whose
// parent had ended before anybody looked is not found.
type tree map[int]relative

// grow forgets those that have ended and notes all that is below a process, 0 for none, and
// below those that are left. It reports whether there was one more.
func (t tree) grow(pid int) (more bool, err error) {
	all, err := processes()
	if err != nil {
		return false, err
	}
	now, children := map[int]relative{}, map[int][]relative{}
	for _, r := range all {
		now[r.pid] = r
		children[r.parent] = append(children[r.parent], r)
	}
	maps.DeleteFunc(t, func(pid int, r relative) bool { return now[pid].started != r.started })
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

// maxRounds bounds how often kill looks for more: what forks without end may outrun it.
const maxRounds = 50

// stopPause is the time between two looks whether those that got SIGSTOP have stopped.
const stopPause = 10 * time.Millisecond

// kill ends all below a process, 0 for none, that got SIGSTOP before, and below those that
// are noted. They are stopped, so that they start nothing more, until no other is found. A
// process stops some time after its signal, and may complete a fork before, so the last look
// is one that began when all had stopped.
func (t tree) kill(pid int) {
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
func (t tree) rest(pid int) bool {
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

func (t tree) signal(s unix.Signal) {
	for pid := range t {
		_ = unix.Kill(pid, s) // it may have ended meanwhile
	}
}
