//go:build !linux

package files

import (
	"path/filepath"

	"github.com/google/uuid"
)

// PrivateFile is a file that only processes of this user can read, in its own temporary directory. It may hold secrets; if this process is
// killed, the next NewPrivateFile removes it.
type PrivateFile struct {
	Path string
	dir  *TempDir
}

// NewPrivateFile creates a private file. what is its name.
func NewPrivateFile(what string, data []byte) (*PrivateFile, error) {
	dir, _, err := MakeTempDir("private", uuid.NewString())
	if err != nil {
		return nil, err
	}
	p := &PrivateFile{filepath.Join(dir.Path, what), dir}
	if err := p.Replace(data); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Replace replaces the content atomically: whoever opens the path reads the old data or the new.
func (p *PrivateFile) Replace(data []byte) error {
	return write(p.Path, data, 0o600, true) // useless after a reboot, so not synced
}

// Close removes the file.
func (p *PrivateFile) Close() { _ = p.dir.Remove() } // the next NewPrivateFile removes what is left
