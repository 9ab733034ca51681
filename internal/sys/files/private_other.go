//go:build !linux

package files

import "os"

// Private is a file that processes of this user are to read, and that other users cannot:
// a temporary one.
type Private struct{ Path string }

// NewPrivate makes a Private. what is part of its name.
func NewPrivate(what string, data []byte) (*Private, error) {
	f, err := os.CreateTemp("", "droid-acp-"+what+"-*")
	if err != nil {
		return nil, err
	}
	p := &Private{f.Name()}
	if err = f.Close(); err == nil {
		err = p.Replace(data)
	}
	if err != nil {
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
func (p *Private) Close() { _ = os.Remove(p.Path) } // nothing can be done where that fails
