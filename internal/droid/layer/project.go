package layer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"droid-acp/internal/files"
)

// Project reads what the files of a project bring to run in a session in cwd. What stands
// in home, the user's own directory, is the user's and no project's. A file that cannot be
// looked at is an Item itself: it may bring anything.
func Project(cwd, home string) Layer {
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real // as droid does
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	dirs := ProjectDirs(cwd)
	r := reader{layer: Layer{Root: dirs[len(dirs)-1]}}
	for _, dir := range dirs {
		if dir != home {
			r.folder(dir)
		}
	}
	r.layer.Watcher = watcher(r.layer.Root)
	return r.layer
}

// reader collects the items of a layer.
type reader struct {
	layer Layer
	read  int64 // bytes of programs
}

// maxPrograms is how many bytes of programs are read. The sum of one that is not read has
// its size and its time in it.
const maxPrograms = 64 << 20

func (r *reader) add(i Item) { r.layer.Items = append(r.layer.Items, i) }

// folder reads the files of one directory of the project.
func (r *reader) folder(dir string) {
	factory := filepath.Join(dir, ".factory")
	r.servers(filepath.Join(factory, "mcp.json"))
	for _, name := range []string{"settings.json", "settings.local.json"} {
		r.settings(filepath.Join(factory, name))
	}
	for _, name := range []string{"hooks.json", filepath.Join("hooks", "hooks.json")} {
		r.hooksFile(filepath.Join(factory, name))
	}
	for _, name := range Folders() {
		r.programs(filepath.Join(dir, name, "commands"))
	}
}

// Folders are the names of the directories in which droid looks for commands and skills
// (0.215, 0.225).
func Folders() []string { return []string{".factory", ".agents", ".agent"} }

// config decodes a file of settings into values by their keys. It reports false where
// there is no such file, or where it could not be looked at: then it is an item. It is of
// the kind blind, which decides whether droid can be started without what it brings.
func (r *reader) config(path string, blind Kind) (values map[string]any, ok bool) {
	err := ReadConfig(path, &values)
	switch {
	case err == nil:
		return values, true
	case isAbsent(err):
		return nil, false
	}
	r.add(Item{Kind: blind, Name: filepath.Base(path), Does: fmt.Sprintf("cannot be read: %v", err), File: path, whole: path + err.Error()})
	return nil, false
}

// isAbsent reports whether an error says that there is no such file. Any other only says
// that it could not be looked at.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Bounds of a look at a directory of commands.
const (
	programDepth   = 8
	programEntries = 1000
)

// programs finds the commands that are programs: those that the system runs.
func (r *reader) programs(root string) {
	left := programEntries
	for dirs, depth := []string{root}, 0; len(dirs) > 0 && depth <= programDepth; depth++ {
		var deeper []string
		for _, dir := range dirs {
			entries, err := os.ReadDir(dir)
			if err != nil && !isAbsent(err) {
				r.add(Item{Kind: Program, Name: filepath.Base(dir), Does: fmt.Sprintf("cannot be looked at: %v", err), File: dir, whole: dir + err.Error()})
			}
			for _, e := range entries {
				if left--; left < 0 {
					r.add(Item{Kind: Program, Name: filepath.Base(root), Does: "has too many files to look at", File: root, whole: root})
					return
				}
				path := filepath.Join(dir, e.Name())
				info, err := os.Stat(path)
				switch {
				case err != nil: // a link that leads nowhere
				case info.IsDir():
					deeper = append(deeper, path)
				default:
					r.program(root, path, info)
				}
			}
		}
		dirs = deeper
	}
}

// program adds a command that is one. One that cannot be read, or is no regular file, is
// taken for one.
func (r *reader) program(root, path string, info fs.FileInfo) {
	var data []byte
	err := errTooMuch
	if r.read += info.Size(); r.read <= maxPrograms {
		data, err = files.Read(path, MaxFile)
	}
	if err == nil && info.Mode()&0o111 == 0 && !hasShebang(data) {
		return // its text goes to the model
	}
	name, _ := filepath.Rel(root, path) // both are clean, and one is below the other
	whole := string(data)
	if err != nil {
		whole = fmt.Sprintf("%d bytes of %v", info.Size(), info.ModTime().UnixNano())
	}
	r.add(Item{Kind: Program, Name: name, Does: path, File: path, whole: whole})
}

// errTooMuch is why a program was not read.
var errTooMuch = errors.New("the programs of the project are too large to look at")

func hasShebang(data []byte) bool { return len(data) > 1 && data[0] == '#' && data[1] == '!' }
