package droid

import (
	"encoding/binary"
	"hash"
	"hash/fnv"
	"os"
	"path/filepath"

	"droid-acp/internal/droid/config"
	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/sys/files"
)

// DirState is the state of a directory, with a stamp of the files that a droid reads when it starts there.
type DirState struct {
	path string      // with symbolic links resolved
	info os.FileInfo // nil if it does not exist
	read uint64      // changes with the files that droid reads
}

// ReadDirState returns the current state. It reads the metadata of files.
func ReadDirState(dir string) DirState {
	path := files.RealPath(filepath.Clean(dir))
	info, _ := os.Stat(path) // nil where there is none
	return DirState{path, info, projectStamp(path, Home(os.Environ()))}
}

// Same reports whether p and q are the same directory, not replaced in between, with the same project.
func (p DirState) Same(q DirState) bool {
	same := p.info == nil && q.info == nil || p.info != nil && q.info != nil && os.SameFile(p.info, q.info)
	return same && p.path == q.path && p.read == q.read
}

// projectStamp returns a number that changes when a file that droid reads at its start in cwd is created, removed or written: those of the
// project and the user's own. It does not read them. The user's .factory has further files, which droid writes all the time.
func projectStamp(cwd, home string) uint64 {
	h := fnv.New64a()
	stampFile(h, filepath.Join(cwd, projectconfig.Bunfig))
	for _, f := range append(config.ProjectFiles(cwd, home, config.Names...), config.UserFiles(home, config.Names...)...) {
		stampFile(h, f.Path)
	}
	_ = binary.Write(h, binary.LittleEndian, projectconfig.TextStamp(cwd, home)) // it never fails
	return h.Sum64()
}

func stampFile(h hash.Hash64, path string) {
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	_, _ = h.Write([]byte(path)) // it never fails
	_ = binary.Write(h, binary.LittleEndian, [...]int64{info.ModTime().UnixNano(), info.Size(), int64(info.Mode())})
}
