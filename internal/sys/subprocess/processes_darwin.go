package subprocess

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// setParentDeathSignal does nothing: there is no parent-death signal here. If we die, the guard ends the group.
func setParentDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}

// stopped and zombie are SSTOP and SZOMB of sys/proc.h.
const (
	stopped = 4
	zombie  = 5
)

// processes lists all processes.
func processes() (all []processInfo, err error) {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	for i := range table {
		all = append(all, processInfoOf(&table[i]))
	}
	return all, err
}

// processOf returns one process.
func processOf(pid int) (processInfo, error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return processInfo{}, err
	}
	return processInfoOf(p), nil
}

func processInfoOf(p *unix.KinfoProc) processInfo {
	return processInfo{
		pid:     int(p.Proc.P_pid),
		started: uint64(p.Proc.P_starttime.Sec)*1e6 + uint64(p.Proc.P_starttime.Usec),
		parent:  int(p.Eproc.Ppid),
		group:   int(p.Eproc.Pgid),
		dead:    p.Proc.P_stat == zombie,
		stopped: p.Proc.P_stat == stopped,
	}
}

// startedAt returns the start time of the process.
func (r processInfo) startedAt() (time.Time, error) { return time.UnixMicro(int64(r.started)), nil }
