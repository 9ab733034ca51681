package adapter

import (
	"encoding/binary"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"droid-acp/internal/droid/layer"
)

// Bounds of one look at a directory of commands or skills, so that a large tree that
// stands there by mistake costs little.
const (
	commandDepth   = 8
	skillDepth     = 3
	commandEntries = 1000
)

// commandPlaces are the directories that may have commands or skills, by the name of
// the last part: "commands" or "skills". They stand below the session's directory, below
// its parents up to the root of the git repository, and below the user's home (0.215 and
// 0.225). What comes first wins.
func commandPlaces(cwd, last string) (places []string) {
	bases := layer.ProjectDirs(cwd)
	if home, err := os.UserHomeDir(); err == nil && !slices.Contains(bases, home) {
		bases = append(bases, home)
	}
	for _, base := range bases {
		for _, home := range layer.Folders() {
			places = append(places, filepath.Join(base, home, last))
		}
	}
	return places
}

// walkCommands calls visit with each command file below a directory: the files of a
// directory before those of its subdirectories.
func walkCommands(root string, visit func(path string, info fs.FileInfo)) {
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
						visit(path, info)
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

// walkSkills calls visit with the SKILL.md of each skill below a directory. What else
// a skill's directory has is not looked at.
func walkSkills(root string, visit func(path string, info fs.FileInfo)) {
	left := commandEntries
	for dirs, depth := []string{root}, 0; len(dirs) > 0 && depth <= skillDepth; depth++ {
		var deeper []string
		for _, dir := range dirs {
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				if !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
					continue
				}
				if left--; left < 0 {
					return
				}
				path := filepath.Join(dir, e.Name(), "SKILL.md")
				if info, err := os.Stat(path); err == nil {
					visit(path, info)
					continue
				}
				deeper = append(deeper, filepath.Join(dir, e.Name()))
			}
		}
		dirs = deeper
	}
}

// commandsStamp is a number that changes when a command file or a skill of a session
// in cwd comes, goes or is written.
func commandsStamp(cwd string) uint64 {
	h := fnv.New64a()
	add := func(path string, info fs.FileInfo) {
		_, _ = h.Write([]byte(path)) // it never fails
		_ = binary.Write(h, binary.LittleEndian, [...]int64{info.ModTime().UnixNano(), info.Size(), int64(info.Mode())})
	}
	for _, place := range commandPlaces(cwd, "commands") {
		if info, err := os.Stat(place); err == nil {
			add(place, info) // a program that comes or goes shows here
			walkCommands(place, add)
		}
	}
	for _, place := range commandPlaces(cwd, "skills") {
		walkSkills(place, add)
	}
	return h.Sum64()
}
