package procgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Group is one command with the processes that it started. The zero value is
// ready for Start. All methods may be called from several goroutines.
//
// It is a job object that ends with its last handle. Ours is the only one, so the
// job ends when our process dies, however it dies.
type Group struct {
	mu  sync.Mutex
	job windows.Handle // 0 before Start and after Close
}

// Start starts cmd, without a window, in a new group. After an error nothing runs
// and the group needs no Close. A group is started once.
//
// The command runs for a moment before it is put into the job. What it starts in
// that moment is not in the job.
func (g *Group) Start(cmd *exec.Cmd) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	job, err := newJob()
	if err != nil {
		return err
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.HideWindow = true
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return err
	}
	if err := assign(job, cmd.Process.Pid); err != nil {
		err = errors.Join(err, cmd.Process.Kill())
		_ = cmd.Wait() // killed
		_ = windows.CloseHandle(job)
		return err
	}
	g.job = job
	return nil
}

// newJob makes a job that is ended when its last handle is closed.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("creating a job object: %w", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		_ = windows.CloseHandle(job)
		return 0, fmt.Errorf("setting up a job object: %w", err)
	}
	return job, nil
}

// assign puts a process into a job.
func assign(job windows.Handle, pid int) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return fmt.Errorf("opening the process: %w", err)
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(job, process); err != nil {
		return fmt.Errorf("assigning the process to a job object: %w", err)
	}
	return nil
}

// Terminate ends the processes of the group at once: Windows has no signal that
// asks a program without a console to end. Before Start and after Close it returns
// os.ErrProcessDone.
func (g *Group) Terminate() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job == 0 {
		return os.ErrProcessDone
	}
	return windows.TerminateJobObject(g.job, 1)
}

// Close ends what is left of the group, the command included if it still runs.
func (g *Group) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.CloseHandle(g.job)
		g.job = 0
	}
}
