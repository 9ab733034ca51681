package editorfs

import (
	"os"
	"strings"

	"droid-acp/internal/files"
)

// publish makes a file; nobody else can rename or remove it as long as it is open. What is
// not whole yet has another sum than it says.
func publish(path string, data []byte, _ func(*os.File) error) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err = file.Write(data); err == nil {
		err = file.Sync()
	}
	if err != nil {
		files.Unlock(file, path)
		return nil, err
	}
	return file, nil
}

// mendingEnd ends the name of an entry while it is mended.
const mendingEnd = ".mending"

// claim opens an entry for mending, if nobody else has it open: then it cannot be renamed.
func (f *Files) claim(path string) (*os.File, string, bool) {
	mine, left := strings.CutSuffix(path, mendingEnd)
	if !left { // else its agent was killed while it mended
		mine = path + mendingEnd
	}
	if os.Rename(path, mine) != nil {
		return nil, "", false
	}
	file, err := os.OpenFile(mine, os.O_RDWR, 0)
	return file, mine, err == nil
}

// unclaim closes an entry that was claimed, and returns its path from then on.
func unclaim(file *os.File, path string) string {
	_ = file.Close()
	name, mine := strings.CutSuffix(path, mendingEnd)
	if mine && os.Rename(path, name) != nil {
		return path
	}
	return name
}
