package layer

import (
	"path/filepath"
	"strings"

	"droid-acp/internal/files"
)

// CommonGitDir is the directory that a repository shares with its worktrees: the .git of
// the main one. A worktree counts as one only where the main repository says so, too, so
// that no directory can pretend to belong to another repository. Without a repository it
// is a .git that does not exist.
func CommonGitDir(root string) string {
	own := filepath.Join(root, ".git")
	line, err := files.Read(own, MaxFile)
	if err != nil { // a directory, as in most repositories, or nothing
		return own
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "gitdir: ")
	if !ok {
		return own
	}
	dir = resolved(root, dir)
	back, err := files.Read(filepath.Join(dir, "gitdir"), MaxFile)
	common, err2 := files.Read(filepath.Join(dir, "commondir"), MaxFile)
	if err != nil || err2 != nil || resolved(dir, strings.TrimSpace(string(back))) != resolved(root, own) {
		return dir // a submodule, or a directory of its own
	}
	return resolved(dir, strings.TrimSpace(string(common)))
}

// resolved is a path, which may be relative to dir, without links where it exists.
func resolved(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}
