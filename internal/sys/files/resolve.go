package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is the number of symbolic links that Resolve follows, as on Linux.
const maxLinks = 40

// errLinks means that a path has too many symbolic links, or a loop of them.
var errLinks = errors.New("too many symbolic links")

// errKernel is the error of Resolve for links such as /proc/self.
var errKernel = errors.New("a link of the kernel's leads elsewhere for each process")

// Resolve returns, without symbolic links, the path of the file that a write to an absolute path would reach. Unlike filepath.EvalSymlinks,
// it follows a link to a file that does not exist, since a write creates that file. ".." is the parent of a link's target. Resolve may
// hang.
func Resolve(path string) (string, error) {
	volume := filepath.VolumeName(path)
	root := volume + string(filepath.Separator)
	resolved, rest := root, strings.TrimPrefix(filepath.FromSlash(path), root)
	for links := 0; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, string(filepath.Separator))
		switch name {
		case "", ".":
			continue
		case "..":
			resolved = filepath.Dir(resolved)
			continue
		}
		next := filepath.Join(resolved, name)
		info, err := os.Lstat(next)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err != nil || info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
			resolved = next
			continue
		}
		if IsKernelPath(next) {
			return "", errKernel
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if links++; links > maxLinks {
			return "", errLinks
		}
		target = filepath.FromSlash(target)
		if v := filepath.VolumeName(target); v != "" || filepath.IsAbs(target) {
			root = v + string(filepath.Separator)
			resolved, target = root, strings.TrimPrefix(target, root)
		}
		rest = target + string(filepath.Separator) + rest
	}
	return resolved, nil
}
