package adapter

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"droid-acp/internal/droid/layer"
)

// Bounds of one look at a directory of commands, so that a large tree that stands there by
// mistake costs little.
const (
	commandDepth   = 8
	commandEntries = 1000
)

// commandPlaces are the directories that may have commands. They stand below the session's
// directory, below its parents up to the root of the git repository, and below the user's
// home (0.215 and 0.225). What comes first wins.
func commandPlaces(cwd string) (places []string) {
	bases := layer.ProjectDirs(cwd)
	if home, err := os.UserHomeDir(); err == nil && !slices.Contains(bases, home) {
		bases = append(bases, home)
	}
	for _, base := range bases {
		for _, home := range layer.Folders() {
			places = append(places, filepath.Join(base, home, "commands"))
		}
	}
	return places
}

// walkCommands calls visit with each command file below a directory: the files of a
// directory before those of its subdirectories.
func walkCommands(root string, visit func(path string)) {
	left := commandEntries
	for dirs, depth := []string{root}, 0; len(dirs) > 0 && depth <= commandDepth; depth++ {
		var deeper []string
		for _, dir := range dirs {
			entries, _ := os.ReadDir(dir) // most do not exist
			for _, e := range entries {
				if left--; left < 0 {
					return
				}
				path := filepath.Join(dir, e.Name())
				if isCommandFile(e.Name()) {
					if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
						visit(path)
						continue
					}
				}
				if e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
					deeper = append(deeper, path)
				}
			}
		}
		dirs = deeper
	}
}

// isCommandFile reports whether a file of this name is a command whose text goes to
// the model. Programs are commands, too; those only droid runs (since 0.215).
func isCommandFile(name string) bool { return strings.EqualFold(filepath.Ext(name), ".md") }
