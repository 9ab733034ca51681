package child

import (
	"errors"
	"time"
)

// Kin is not known here: Windows has no process groups.
func (p *Process) Kin(int) (*Kin, error) { return nil, errors.ErrUnsupported }

// GroupRuns is not known here.
func GroupRuns(int, time.Time) (bool, error) { return false, errors.ErrUnsupported }

// Runs is not known here.
func (k *Kin) Runs() bool { return false }

func (k *Kin) signal(bool) {}
