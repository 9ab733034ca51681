// Package layer reads the files from which droid takes its settings: those of a project,
// in the .factory directories from a session's directory up to the root of its git
// repository, and those of the user. It starts nothing and changes nothing.
package layer

import (
	"encoding/json"
	"os"
	"path/filepath"

	"droid-acp/internal/files"
)

// MaxFile is how large a file may be that is read here, in bytes.
const MaxFile = 4 << 20

// ReadConfig decodes a settings file, which may have comments. A missing file is
// fs.ErrNotExist.
func ReadConfig(path string, into any) error {
	data, err := files.Read(path, MaxFile)
	if err != nil {
		return err
	}
	return json.Unmarshal(WithoutComments(data), into)
}

// ProjectDirs are the directories whose settings hold in a session in cwd, the nearest
// first: cwd and its parents up to the root of its git repository, cwd alone where it is
// in none (0.99 to 0.225).
func ProjectDirs(cwd string) []string {
	var dirs []string
	for dir := filepath.Clean(cwd); ; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dirs
		}
		if dir == filepath.Dir(dir) {
			return dirs[:1]
		}
	}
}
