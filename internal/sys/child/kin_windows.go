package child

import (
	"errors"
	"time"
)

// Kin fails: Windows has no process groups.
func (p *Process) Kin(int) (*Kin, error) { return nil, errors.ErrUnsupported }

// GroupRuns fails: Windows has no process groups.
func GroupRuns(int, time.Time) (bool, error) { return false, errors.ErrUnsupported }

// Runs returns false: there is no Kin on Windows.
func (k *Kin) Runs() bool { return false }

func (k *Kin) signal(bool) {}
