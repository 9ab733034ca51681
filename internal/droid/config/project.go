package config

import (
	"os"
	"path/filepath"
	"strings"

	"droid-acp/internal/sys/files"
)

// ProjectDirs are the directories whose settings hold in a session in cwd, the nearest
// first: cwd and its parents up to the root of its git repository, cwd alone where it is
// in none (0.99 to 0.225). A .git of which nobody can say whether droid takes it for a
// repository's is passed on the way up: then these may be more than droid reads.
func ProjectDirs(cwd string) []string {
	var dirs []string
	repository := 0 // how many of them are below some .git
	for dir := filepath.Clean(cwd); ; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		own := filepath.Join(dir, ".git")
		if _, err := os.Lstat(own); err == nil {
			repository = len(dirs)
			if IsRepository(own) {
				return dirs
			}
		}
		if dir == filepath.Dir(dir) {
			return dirs[:max(repository, 1)]
		}
	}
}

// IsRepository reports whether a .git is, for anybody who looks, that of a repository.
func IsRepository(own string) bool {
	if info, err := os.Stat(own); err == nil && !info.IsDir() {
		target, ok := gitFile(own)
		if !ok {
			return false
		}
		own = target
	}
	info, err := os.Stat(filepath.Join(own, "HEAD"))
	return err == nil && info.Mode().IsRegular()
}

// gitFile is the directory that a .git names that is a file.
func gitFile(own string) (dir string, ok bool) {
	line, err := files.Read(own, MaxFile)
	if err != nil {
		return "", false
	}
	dir, ok = strings.CutPrefix(strings.TrimSpace(string(line)), "gitdir: ")
	return resolved(filepath.Dir(own), dir), ok
}

// CommonGitDir names the repository of a root: the .git that it shares with its worktrees.
// A .git that is a file may name any directory, so it counts only where that directory
// names the root, too, and is where git keeps such a one: as a worktree of that repository, or
// as the repository of a submodule with this working tree. Else the root stands for itself. Without a repository it is a .git that does not exist.
func CommonGitDir(root string) string {
	own := filepath.Join(root, ".git")
	dir, ok := gitFile(own)
	if !ok { // a directory, as in most repositories, or nothing
		return own
	}
	back, err := files.Read(filepath.Join(dir, "gitdir"), MaxFile)
	if err != nil {
		if resolved(dir, coreWorkTree(filepath.Join(dir, "config"))) == resolved(root, ".") {
			return dir
		}
		return own
	}
	common, err := files.Read(filepath.Join(dir, "commondir"), MaxFile)
	repository := resolved(dir, strings.TrimSpace(string(common)))
	if err == nil && filepath.Dir(dir) == filepath.Join(repository, "worktrees") && resolved(dir, strings.TrimSpace(string(back))) == resolved(root, own) {
		return repository
	}
	return own
}

// coreWorkTree is the core.worktree of a submodule's configuration, in the form in which git
// itself writes it there; "" for none.
func coreWorkTree(config string) string {
	data, err := files.Read(config, MaxFile)
	if err != nil {
		return ""
	}
	found, section := "", ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
		}
		if value, ok := strings.CutPrefix(line, "worktree = "); ok && section == "[core]" {
			found = value
		}
	}
	return found
}

// resolved is a path, which may be relative to dir, without links where it exists.
func resolved(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return files.RealPath(filepath.Clean(path))
}
