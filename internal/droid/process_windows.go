package droid

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

// osProcess ends droid with its descendants through a job object, which also
// ends them when our process dies: the last handle to the job is then closed.
type osProcess struct {
	mu  sync.Mutex
	job windows.Handle
}

// start has a gap: what droid starts before it is put into the job is not in
// it. droid takes a quarter of a second before it starts anything.
func (o *osProcess) start(c *exec.Cmd) error {
	job, err := newJob()
	if err != nil {
		return err
	}
	c.SysProcAttr = &syscall.SysProcAttr{HideWindow: true}
	if err := c.Start(); err != nil {
		windows.CloseHandle(job)
		return err
	}
	if err := assign(job, c.Process.Pid); err != nil {
		err = errors.Join(err, c.Process.Kill())
		c.Wait() // killed
		windows.CloseHandle(job)
		return err
	}
	o.job = job
	return nil
}

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
		windows.CloseHandle(job)
		return 0, fmt.Errorf("setting up a job object: %w", err)
	}
	return job, nil
}

func assign(job windows.Handle, pid int) error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return fmt.Errorf("opening the droid process: %w", err)
	}
	defer windows.CloseHandle(h)
	if err := windows.AssignProcessToJobObject(job, h); err != nil {
		return fmt.Errorf("assigning droid to a job object: %w", err)
	}
	return nil
}

// release ends what droid left running.
func (o *osProcess) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.job != 0 {
		windows.CloseHandle(o.job)
		o.job = 0
	}
}

// terminate does nothing: Windows has no signal that a program without a
// console can be asked to end with.
func (o *osProcess) terminate() error { return nil }

func (o *osProcess) kill() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.job == 0 {
		return os.ErrProcessDone
	}
	return windows.TerminateJobObject(o.job, 1)
}

// signalName is empty: nothing is ended by signals here.
func signalName(*os.ProcessState) string { return "" }
