//go:build !unix

package store

import (
	"os"
	"time"
)

// canReplace says whether a file that others may have open can be replaced. Where it
// cannot, lines are only added, each in one piece, so that no lock is needed.
const canReplace = false

// openLocked opens a file to append to it, and makes it if need be.
func (s *Store) openLocked(path string, _ time.Time) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
}
