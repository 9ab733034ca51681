//go:build !linux

package files

import (
	"path/filepath"

	"github.com/google/uuid"
)

// Private is a file that only processes of this user can read, in its own temporary directory. It may hold secrets; if this process is
// killed, the next NewPrivate removes it.
type Private struct {
	Path string
	dir  *TempDir
}

// NewPrivate creates a private file. what is its name.
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

// Replace replaces the content atomically: whoever opens the path reads the old data or the new.
func (p *Private) Replace(data []byte) error {
	return write(p.Path, data, 0o600, true) // useless after a reboot, so not synced
}

// Close removes the file.
func (p *Private) Close() { _ = p.dir.Remove() } // the next NewPrivate removes what is left
