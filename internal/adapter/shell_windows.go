package adapter

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// shellProcess runs a command as typed: /S has cmd take off the outer quotes
// and nothing else.
func shellProcess(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "cmd")
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CmdLine: `cmd /S /C "` + command + `"`}
	return cmd
}

// processGroup is a command with what it started, in a job object. What it
// starts before it is put into the job is not in it.
type processGroup struct{ job windows.Handle }

func (g *processGroup) start(cmd *exec.Cmd) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return err
	}
	g.job = job
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
		LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE}}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		g.kill()
		return err
	}
	if err := cmd.Start(); err != nil {
		g.kill()
		return err
	}
	if err := assignJob(job, cmd.Process.Pid); err != nil {
		err = errors.Join(err, cmd.Process.Kill())
		_ = cmd.Wait() // killed
		g.kill()
		return err
	}
	return nil
}

func assignJob(job windows.Handle, pid int) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	return windows.AssignProcessToJobObject(job, process)
}

// terminate ends the group: Windows has no signal to ask with.
func (g *processGroup) terminate() error { return windows.TerminateJobObject(g.job, 1) }

// kill ends what is left of the group: it closes the only handle to the job.
func (g *processGroup) kill() { _ = windows.CloseHandle(g.job) }
