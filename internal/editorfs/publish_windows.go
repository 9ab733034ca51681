package editorfs

import "os"

// publish makes a file; nobody else can rename or remove it as long as it is open. What is
// not whole yet has another sum than it says.
func publish(path string, data []byte) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err = file.Write(data); err == nil {
		err = file.Sync()
	}
	if err != nil {
		unlock(file, path)
		return nil, err
	}
	return file, nil
}

// claim opens an entry for mending, if nobody else has it open: then it cannot be renamed.
func claim(path string) (*os.File, string, bool) {
	mine := path + ".mending"
	if os.Rename(path, mine) != nil {
		return nil, "", false
	}
	file, err := os.OpenFile(mine, os.O_RDWR, 0)
	return file, mine, err == nil
}
