//go:build !linux

package droid

import "os"

// openPrivateFile writes the data to a temporary file that only the user can read,
// since it may hold secrets.
func openPrivateFile(what string, data []byte) (*privateFile, error) {
	f, err := os.CreateTemp("", "droid-acp-"+what+"-*")
	if err != nil {
		return nil, err
	}
	path := f.Name()
	s := &privateFile{
		path:    path,
		replace: func(data []byte) error { return os.WriteFile(path, data, 0o600) },
		close:   func() { _ = os.Remove(path) }, // nothing can be done where that fails
	}
	if err = f.Close(); err == nil {
		err = s.replace(data)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}
