package subprocess

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"
)

// setParentDeathSignal makes a process receive a signal when the thread that starts it ends.
func setParentDeathSignal(attr *syscall.SysProcAttr, s syscall.Signal) { attr.Pdeathsig = s }

// processes lists all processes from /proc.
func processes() (all []processInfo, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if r, err := readStat(pid); err == nil {
			all = append(all, r)
		}
	}
	return all, nil
}

// processOf returns one process.
func processOf(pid int) (processInfo, error) { return readStat(pid) }

// readStat parses /proc/PID/stat, see proc_pid_stat(5). The program's name, in parentheses, may contain anything.
func readStat(pid int) (processInfo, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return processInfo{}, err
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 {
		return processInfo{}, strconv.ErrSyntax
	}
	parent, err1 := strconv.Atoi(string(fields[1]))                // field 4
	group, err2 := strconv.Atoi(string(fields[2]))                 // field 5
	started, err3 := strconv.ParseUint(string(fields[19]), 10, 64) // field 22: clock ticks after boot
	dead := fields[0][0] == 'Z' || fields[0][0] == 'X'             // field 3
	stopped := fields[0][0] == 'T' || fields[0][0] == 't'
	return processInfo{pid, started, parent, group, dead, stopped}, errors.Join(err1, err2, err3)
}

// startedAt returns the start time of the process. It is wrong by as much as the clock was set since boot.
func (r processInfo) startedAt() (time.Time, error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, err
	}
	_, rest, _ := bytes.Cut(data, []byte("\nbtime "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	boot, err := strconv.ParseInt(string(line), 10, 64)
	const ticks = 100 // per second, see sysconf(3)
	return time.Unix(boot, 0).Add(time.Duration(r.started) * time.Second / ticks), err
}
