package projectconfig

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"droid-acp/internal/droid/config"
)

// maxEntries is how many files of one directory are read, including subdirectories if droid reads those, too.
const maxEntries = 1000

// programs finds the executable commands. droid follows directories of any depth, and links to directories (0.99 to 0.225).
func (r *reader) programs(root string) {
	r.link(root)
	left := maxEntries
	seen := make(map[string]bool) // directories, with symbolic links resolved
	for dirs := []string{root}; len(dirs) > 0; dirs = dirs[1:] {
		real, err := filepath.EvalSymlinks(dirs[0])
		if err == nil && seen[real] {
			continue
		}
		seen[real] = true
		entries, err := os.ReadDir(dirs[0])
		if err != nil && !config.IsAbsent(err) {
			r.unread(Program, dirs[0], err)
		}
		for _, e := range entries {
			if left--; left < 0 {
				r.unread(Program, root, errTooMany)
				return
			}
			path := filepath.Join(dirs[0], e.Name())
			info, err := os.Stat(path)
			switch {
			case config.IsAbsent(err): // a dangling link
			case err != nil:
				r.unread(Program, path, err)
			case info.IsDir():
				dirs = append(dirs, path)
			default:
				r.program(root, path)
			}
		}
	}
}

// program adds an executable command, whatever its name and mode (0.215, 0.225). One that cannot be read, or is not a regular file, counts
// as executable.
func (r *reader) program(root, path string) {
	first, whole, err := r.contents(path)
	if err == nil && string(first) != "#!" {
		return // its text is for the model
	}
	name, _ := filepath.Rel(root, path) // both are clean, and one is below the other
	r.add(Item{Kind: Program, Name: name, Does: path, File: path, whole: whole, Unread: err != nil})
}

// Command returns the slash command that runs a Program (droid 0.215, 0.225).
func (i Item) Command() string {
	name := filepath.Base(i.Name)
	name = strings.ToLower(strings.TrimSuffix(name, filepath.Ext(name)))
	return "/" + notInCommand().ReplaceAllString(name, "-")
}

var notInCommand = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9_]+`) })

// Typed returns the item that a prompt would run as a command: droid runs the text after a slash (0.215, 0.225). ok is false if it runs
// none of the project's.
func (l Layer) Typed(prompt string) (program Item, ok bool) {
	word, ok := strings.CutPrefix(strings.TrimLeftFunc(prompt, isBlank), "/")
	if !ok {
		return Item{}, false
	}
	word = strings.TrimLeftFunc(word, func(r rune) bool { return r == '/' || isBlank(r) })
	if end := strings.IndexFunc(word, isBlank); end >= 0 {
		word = word[:end]
	}
	for _, program = range l.Of(Program) {
		name := filepath.Base(program.Name)
		if program.Does != program.File || normalizedName(strings.TrimSuffix(name, filepath.Ext(name))) == normalizedName(word) {
			return program, true // the names of a directory that could not be read are unknown
		}
	}
	return Item{}, false
}

// isBlank reports whether droid may treat a character as the end of a name, or skip it before one: everything that JavaScript considers
// white space, and invisible characters.
func isBlank(r rune) bool {
	return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.IsControl(r)
}

// normalizedName returns a name without the parts in which droid may form it differently: it keeps lower-case letters and digits, and
// replaces everything else by a hyphen.
func normalizedName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}
