package projectconfig

import (
	"encoding/binary"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"

	"droid-acp/internal/droid/config"
)

// textFolders contain what droid offers as commands (0.215, 0.225). It watches its subagents without chokidar.
var textFolders = []string{"commands", "skills"}

// TextStamp returns a number that changes when a command or skill is added, removed or written, of the user or of the project of a session
// in cwd. It reads no file contents.
func TextStamp(cwd, home string) uint64 {
	h, left := fnv.New64a(), maxEntries
	for _, dir := range append(config.ProjectDirs(cwd), home) {
		for _, folder := range folders {
			for _, name := range textFolders {
				if dir == "" || left <= 0 {
					continue
				}
				_ = filepath.WalkDir(filepath.Join(dir, folder, name), func(path string, _ fs.DirEntry, err error) error {
					if left--; err != nil || left < 0 {
						return fs.SkipAll
					}
					if info, err := os.Stat(path); err == nil && !info.IsDir() {
						_, _ = h.Write([]byte(path)) // it never fails
						_ = binary.Write(h, binary.LittleEndian, [...]int64{info.ModTime().UnixNano(), info.Size(), int64(info.Mode())})
					}
					return nil
				})
			}
		}
	}
	return h.Sum64()
}
