package commands

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"droid-acp/internal/droid/layer"
	"droid-acp/internal/files"
	"droid-acp/internal/protocol"
	"droid-acp/internal/show"
)

// Bounds of one look at a directory of commands, so that a large tree that stands there by
// mistake costs little.
const (
	maxDepth   = 8
	maxEntries = 1000
	maxFile    = 1 << 20 // bytes
)

// Files are the commands that stand in files, each name once.
type Files struct {
	commands []protocol.AvailableCommand
	texts    map[string]string // by name
}

// ReadFiles reads the command files of a session in cwd. Before 0.215 droid does not expand
// them by itself in this mode. Files that the system runs are left out.
func ReadFiles(cwd string) Files {
	f := Files{texts: make(map[string]string)}
	for _, place := range places(cwd) {
		walk(place, func(path string) {
			base := filepath.Base(path)
			name := Name(strings.TrimSuffix(base, filepath.Ext(base)))
			if _, known := f.texts[name]; known || name == "" {
				return
			}
			text, ok := read(path)
			if !ok || strings.HasPrefix(text, "#!") {
				return
			}
			fields, body := frontMatter(text)
			f.texts[name] = body
			f.commands = append(f.commands, describe(name, cmp.Or(fields["description"], show.FirstLine(body)), fields["argument-hint"]))
		})
	}
	return f
}

// places are the directories that may have commands. They stand below the session's
// directory, below its parents up to the root of the git repository, and below the user's
// home (0.215 and 0.225). What comes first wins.
func places(cwd string) (places []string) {
	bases := layer.ProjectDirs(cwd)
	if home, err := os.UserHomeDir(); err == nil && !slices.Contains(bases, home) {
		bases = append(bases, home)
	}
	for _, base := range bases {
		for _, folder := range layer.Folders() {
			places = append(places, filepath.Join(base, folder, "commands"))
		}
	}
	return places
}

// walk calls visit with each command file below a directory: the files of a directory
// before those of its subdirectories.
func walk(root string, visit func(path string)) {
	left := maxEntries
	for dirs, depth := []string{root}, 0; len(dirs) > 0 && depth <= maxDepth; depth++ {
		var deeper []string
		for _, dir := range dirs {
			entries, _ := os.ReadDir(dir) // most do not exist
			for _, e := range entries {
				if left--; left < 0 {
					return
				}
				path := filepath.Join(dir, e.Name())
				if isText(e.Name()) {
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

// isText reports whether a file of this name is a command whose text goes to the model.
// Programs are commands, too; those only droid runs (since 0.215).
func isText(name string) bool { return strings.EqualFold(filepath.Ext(name), ".md") }

// read reads a command file and ends its lines as on unix. It reports false for anything
// but a regular file of a sensible size.
func read(path string) (text string, ok bool) {
	data, err := files.Read(path, maxFile)
	if err != nil {
		return "", false
	}
	return strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n"), true
}

// frontMatter splits a command file into its "key: value" head and its body. A value
// may go on in indented lines, behind one of YAML's signs for that.
func frontMatter(text string) (fields map[string]string, body string) {
	fields = map[string]string{}
	rest, ok := strings.CutPrefix(text, "---\n")
	head, after, closed := strings.Cut(rest, "\n---")
	if !ok || !closed {
		return fields, text
	}
	last := ""
	for line := range strings.Lines(head) {
		if more := strings.TrimSpace(line); last != "" && more != "" && strings.ContainsAny(line[:1], " \t") {
			fields[last] = strings.TrimSpace(fields[last] + " " + more)
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		last = strings.TrimSpace(key)
		fields[last] = strings.Trim(strings.TrimSpace(value), `"'`)
		switch fields[last] {
		case ">", ">-", ">+", "|", "|-", "|+":
			fields[last] = ""
		}
	}
	return fields, strings.TrimLeft(after, "\n")
}
