package subprocess

import (
	"errors"
	"time"
)

// DescendantGroup fails: Windows has no process groups.
func (p *Process) DescendantGroup(int) (*ProcessGroup, error) { return nil, errors.ErrUnsupported }

// GroupRunning fails: Windows has no process groups.
func GroupRunning(int, time.Time) (bool, error) { return false, errors.ErrUnsupported }

// Runs returns false: there is no ProcessGroup on Windows.
func (k *ProcessGroup) Runs() bool { return false }

func (k *ProcessGroup) signal(bool) {}
