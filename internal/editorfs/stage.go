package editorfs

import "os"

// create writes the text to a new file of this name.
func (s *staged) create(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = s.fill(file); err == nil && s.last {
		err = file.Sync()
	}
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return err
}

// fill writes the text and sets the mode.
func (s *staged) fill(file *os.File) error {
	if _, err := file.WriteString(s.text); err != nil {
		return err
	}
	return file.Chmod(s.mode.Perm())
}
