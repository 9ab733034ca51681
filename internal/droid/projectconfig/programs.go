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

// maxEntries is how many files of one directory are looked at, with all below it where droid
// looks there, too.
const maxEntries = 1000

// programs finds the commands that are programs. droid follows
// directories however deep they are, and links to directories (0.99 to 0.225).
func (r *reader) programs(root string) {
	r.link(root)
	left := maxEntries
	seen := make(map[string]bool) // directories, where their links lead
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
			case err != nil: // a link that leads nowhere
			case info.IsDir():
				dirs = append(dirs, path)
			default:
				r.program(root, path)
			}
		}
	}
}

// program adds a command that is one, whatever its name and mode (0.215, 0.225). One that cannot be read, or is no
// regular file, is taken for one.
func (r *reader) program(root, path string) {
	first, whole, err := r.contents(path)
	if err == nil && string(first) != "#!" {
		return // its text goes to the model
	}
	name, _ := filepath.Rel(root, path) // both are clean, and one is below the other
	r.add(Item{Kind: Program, Name: name, Does: path, File: path, whole: whole, Unread: err != nil})
}

// Command is the slash command that runs a Program (droid 0.215, 0.225).
func (i Item) Command() string {
	name := filepath.Base(i.Name)
	name = strings.ToLower(strings.TrimSuffix(name, filepath.Ext(name)))
	return "/" + notInCommand().ReplaceAllString(name, "-")
}

var notInCommand = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9_]+`) })

// Typed is the item that a prompt would run as a command: droid runs what is typed behind a
// slash (0.215, 0.225). ok is false where it runs none of the project's.
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
			return program, true // of one that could not be looked at, nobody knows the name
		}
	}
	return Item{}, false
}

// isBlank reports whether droid may take a character for the end of a name, or pass over it
// before one: all that JavaScript takes for white space, and what nobody sees.
func isBlank(r rune) bool {
	return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.IsControl(r)
}

// normalizedName is a name without all in which droid's way of making one may differ: it has small
// letters and digits, and puts a hyphen for everything else.
func normalizedName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}
