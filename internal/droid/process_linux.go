package droid

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// osProcess ends droid and what it started.
//
// droid runs each tool in a session of its own, so no signal to a process group
// reaches them, and 0.99 leaves them running when it is signalled (0.225 has a
// watchdog). Before a signal the descendants are therefore listed from /proc,
// and those that outlive droid are killed. This is best effort: a process that
// detached itself from droid is not found, and nothing is done about tools when
// droid ends by itself or when we are killed. What stays in droid's own process
// group ends in any case, see family.
type osProcess struct {
	family
	mu      sync.Mutex
	process *os.Process
	listed  []relative // descendants at the time of the last signal
}

// relative is a process that cannot be mistaken for a later one with its pid.
type relative struct {
	pid     int
	started uint64 // clock ticks after boot
	group   int    // its process group
}

func (o *osProcess) start(c *exec.Cmd) error {
	// The signal comes when the starting thread ends, see child.run.
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := o.family.start(c); err != nil {
		return err
	}
	o.process = c.Process
	return nil
}

// release kills the listed descendants that outlived droid, and ends what is left in
// its group.
func (o *osProcess) release() {
	o.killListed()
	o.family.end()
}

func (o *osProcess) killListed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.listed {
		if s, err := readStat(r.pid); err == nil && s.started == r.started {
			unix.Kill(r.pid, unix.SIGKILL) // it may have ended meanwhile
		}
	}
	o.listed = nil
}

// terminate asks droid to end.
func (o *osProcess) terminate() error {
	if err := o.process.Signal(syscall.Signal(0)); err != nil {
		return err
	}
	o.list()
	return o.process.Signal(syscall.SIGTERM)
}

// kill ends droid. It is stopped first so that it starts nothing more while its
// descendants are listed.
func (o *osProcess) kill() error {
	o.atOnce()
	if err := o.process.Signal(syscall.SIGSTOP); err == nil {
		o.list()
	}
	return o.process.Kill()
}

func (o *osProcess) list() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.listed = descendants(o.process.Pid)
}

// descendants lists all processes below pid.
func descendants(pid int) []relative {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]relative{}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, err := readStat(n); err == nil {
			children[s.parent] = append(children[s.parent], relative{n, s.started, s.group})
		}
	}
	var found []relative
	for next := children[pid]; len(next) > 0; {
		r := next[0]
		found = append(found, r)
		next = append(next[1:len(next):len(next)], children[r.pid]...)
		delete(children, r.pid)
	}
	return found
}

// inGroup reports whether a process group has a member that lives, besides the guard,
// whose id it has.
func inGroup(id int) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return true // nobody knows
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == id {
			continue
		}
		if s, err := readStat(pid); err == nil && s.group == id && !s.dead {
			return true
		}
	}
	return false
}

type procStat struct {
	dead    bool // it has ended, and nobody has asked how
	parent  int
	group   int
	started uint64
}

// readStat reads /proc/PID/stat, see proc_pid_stat(5). The program's name, in
// parentheses, may contain anything.
func readStat(pid int) (procStat, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, err
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 {
		return procStat{}, strconv.ErrSyntax
	}
	parent, err := strconv.Atoi(string(fields[1])) // field 4
	if err != nil {
		return procStat{}, err
	}
	group, err := strconv.Atoi(string(fields[2])) // field 5
	if err != nil {
		return procStat{}, err
	}
	started, err := strconv.ParseUint(string(fields[19]), 10, 64) // field 22
	if err != nil {
		return procStat{}, err
	}
	return procStat{fields[0][0] == 'Z' || fields[0][0] == 'X', parent, group, started}, nil
}
