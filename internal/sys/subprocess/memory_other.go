//go:build !linux

package subprocess

import (
	"errors"
	"fmt"
)

// Memory returns an error: it is not implemented here.
func Memory([]int) (sum int64, err error) {
	return 0, fmt.Errorf("how much memory processes use is not known on this system: %w", errors.ErrUnsupported)
}
