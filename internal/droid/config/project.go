package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"droid-acp/internal/sys/files"
)

// ProjectDirs returns the directories whose settings apply to a session in cwd, the nearest first: cwd and its parents up to the root of
// its git repository, cwd alone if it is in none (0.99 to 0.225). A .git that droid may or may not accept as a repository does not end the
// search: the result may then have more directories than droid reads.
func ProjectDirs(cwd string) []string {
	var dirs []string
	repository := 0 // number of dirs below the highest .git so far
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

// IsRepository reports whether git certainly takes a .git for a repository (is_git_directory in git's setup.c). Otherwise it may look in the
// parents of the directory.
func IsRepository(own string) bool {
	if info, err := os.Stat(own); err == nil && !info.IsDir() {
		target, ok := gitFile(own)
		if !ok {
			return false
		}
		own = target
	}
	common := own
	if line, err := files.Read(filepath.Join(own, "commondir"), MaxFile); err == nil {
		if common = strings.TrimRight(string(line), "\r\n"); !filepath.IsAbs(common) {
			common = own + "/" + common // not cleaned: ".." after a link leads where the link does
		}
	} else if !IsAbsent(err) {
		return false
	}
	return isHead(filepath.Join(own, "HEAD")) && canEnter(common+"/objects") && canEnter(common+"/refs")
}

var headOf = regexp.MustCompile(`^(ref:[ \t\r\n]*refs/|[0-9a-fA-F]{40})`)

// isHead reports whether git takes a file for the HEAD of a repository.
func isHead(path string) bool {
	if link, err := os.Readlink(path); err == nil {
		return strings.HasPrefix(filepath.ToSlash(link), "refs/")
	}
	text, err := files.Read(path, MaxFile)
	return err == nil && headOf.Match(text[:min(len(text), 255)])
}

// canEnter reports whether a path is a directory that may be searched.
func canEnter(path string) bool {
	_, err := os.Stat(path + "/.")
	return err == nil
}

// gitFile returns the directory that a .git file names.
func gitFile(own string) (dir string, ok bool) {
	line, err := files.Read(own, MaxFile)
	if err != nil {
		return "", false
	}
	dir, ok = strings.CutPrefix(strings.TrimSpace(string(line)), "gitdir: ")
	return resolved(filepath.Dir(own), dir), ok
}

// CommonGitDir identifies the repository of a root: by the .git that it shares with its worktrees. A .git file may name any directory, so
// it counts only if that directory names the root, too, and is where git keeps it: as a worktree of that repository, or as the repository
// of a submodule with this working tree. Otherwise the root stands for itself. Without a repository the result is a .git that does not
// exist.
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

// coreWorkTree returns core.worktree of a submodule's configuration, in the form in which git itself writes it; "" if there is none.
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

// resolved returns a path, which may be relative to dir, with symbolic links resolved if it exists.
func resolved(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return files.RealPath(filepath.Clean(path))
}
