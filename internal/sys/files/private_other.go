//go:build !linux

package files

import (
	"path/filepath"

	"github.com/google/uuid"
)

// Private is a file that processes of this user are to read, and that other users cannot: a temporary one, in a
// directory of its own. If this program is killed, the next that makes one removes it, as it may hold secrets.
type Private struct {
	Path string
	dir  *TempDir
}

// NewPrivate makes a Private. what is its name.
func NewPrivate(what string, data []byte) (*Private, error) {
	dir, _, err := MakeTempDir("private", uuid.NewString())
	if err != nil {
		return nil, err
	}
	p := &Private{filepath.Join(dir.Path, what), dir}
	if err := p.Replace(data); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Replace gives the file other data: who opens the path reads the old or the new ones, whole.
func (p *Private) Replace(data []byte) error {
	return write(p.Path, data, 0o600, true) // it is of no use when the machine starts again
}

// Close takes the file away.
func (p *Private) Close() { _ = p.dir.Remove() } // the next one that is made removes what is left
