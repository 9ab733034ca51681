package subprocess

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// programGroup is a program with its descendants in a job object, which is killed when its last handle is closed. Ours is the only handle,
// so the job ends when our process dies. With Command.NoJob there is no job, and only the program is ended.
type programGroup struct {
	ignoreTerminate bool // Terminate does nothing

	mu      sync.Mutex
	process *os.Process
	job     windows.Handle // 0 without one
}

// start starts cmd without a window. If it returns an error, nothing is running. The program joins its job before it runs, so that all of
// its descendants are in it.
func (f *programGroup) start(c Command, cmd *exec.Cmd) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ignoreTerminate = c.Tree || c.NoJob
	cmd.SysProcAttr.HideWindow, cmd.SysProcAttr.CmdLine = true, c.CmdLine
	if !c.NoJob {
		if f.job, err = newJob(); err != nil {
			return err
		}
		cmd.SysProcAttr.CreationFlags = windows.CREATE_SUSPENDED
	}
	if err = cmd.Start(); err != nil {
		f.close()
		return err
	}
	f.process = cmd.Process
	if c.NoJob {
		return nil
	}
	if err = assign(f.job, cmd.Process.Pid); err == nil {
		err = resume(cmd.Process.Pid)
	}
	if err != nil {
		err = errors.Join(err, cmd.Process.Kill())
		_ = cmd.Wait() // killed
		f.close()
	}
	return err
}

// newJob creates a job that is killed when its last handle is closed.
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

// resume resumes a process that was started suspended. It looks for its threads, since package os does not keep the handle of the only one.
func resume(pid int) error {
	threads, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("listing threads: %w", err)
	}
	defer windows.CloseHandle(threads)
	resumed := errors.New("the process has no thread to resume")
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(threads, &entry); err == nil; err = windows.Thread32Next(threads, &entry) {
		if entry.OwnerProcessID == uint32(pid) {
			if resumed = resumeThread(entry.ThreadID); resumed != nil {
				return fmt.Errorf("resuming the process: %w", resumed)
			}
		}
	}
	return resumed
}

func resumeThread(id uint32) error {
	thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, id)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(thread)
	_, err = windows.ResumeThread(thread)
	return err
}

// terminate kills the job: Windows cannot ask a program without a console to end.
func (f *programGroup) terminate() error {
	if f.ignoreTerminate {
		return nil
	}
	return f.kill()
}

func (f *programGroup) kill() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.job == 0 {
		return f.process.Kill()
	}
	return windows.TerminateJobObject(f.job, 1)
}

// recordDescendants does nothing: the job knows its processes.
func (f *programGroup) recordDescendants() {}

// endRest kills what is left in the job.
func (f *programGroup) endRest(<-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.close()
}

func (f *programGroup) close() {
	if f.job != 0 {
		_ = windows.CloseHandle(f.job)
		f.job = 0
	}
}

// hasEscaped returns true: it is not known here.
func (f *programGroup) hasEscaped() bool { return true }

// signalName returns "": Windows has no signals.
func signalName(*os.ProcessState) string { return "" }
