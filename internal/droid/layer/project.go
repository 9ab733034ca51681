package layer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"droid-acp/internal/sys/files"
)

// Project reads what the files of a project bring that is not known to be harmless, for a
// session in cwd. What stands in home, the user's own directory, is the user's and no
// project's. A file that cannot be looked at is an Item itself: it may bring anything.
func Project(cwd, home string) Layer {
	cwd, home = files.Real(cwd), files.Real(home) // as droid does
	dirs := ProjectDirs(cwd)
	r := reader{layer: Layer{Root: dirs[len(dirs)-1], CWD: cwd}}
	r.preload(filepath.Join(cwd, Bunfig))
	for _, dir := range dirs {
		if dir != home {
			r.folder(dir)
		}
	}
	r.git(cwd, home)
	return r.layer
}

// Bunfig is the file of a Preload: one of Bun, on which droid runs.
const Bunfig = "bunfig.toml"

func (r *reader) preload(path string) {
	info, err := os.Lstat(path)
	if err != nil && isAbsent(err) {
		return
	}
	whole := path
	if err == nil && !info.IsDir() {
		_, whole, _ = r.contents(path, info)
	}
	r.blind(Preload, path, "may name a program that an old droid runs as it starts", whole)
}

// reader collects the items of a layer.
type reader struct {
	layer Layer
	read  int64 // bytes of programs and of files that nobody knows
}

// maxRead is how many bytes of programs and unknown files are read. The sum of one that is
// not read has its size and its time in it.
const maxRead = 64 << 20

func (r *reader) add(i Item) { r.layer.Items = append(r.layer.Items, i) }

// folders are the names of the directories in which droid looks for files of a project: all
// of them in .factory, commands and skills in the others (0.215, 0.225).
var folders = []string{".factory", ".agents", ".agent"}

// folder reads the files of one directory of the project.
func (r *reader) folder(dir string) {
	for _, name := range folders {
		folder := filepath.Join(dir, name)
		if _, err := os.Lstat(folder); err != nil && isAbsent(err) {
			continue
		}
		r.layer.Found = true
		r.link(folder)
		r.programs(filepath.Join(folder, "commands"))
		if name == ".factory" {
			r.factory(folder)
		}
	}
}

// config is a file of settings, and what reads it.
type config struct {
	name string
	read func(r *reader, path string)
}

// configs are the files in .factory that droid reads as settings (0.99 to 0.225).
var configs = []config{
	{"mcp.json", (*reader).servers},
	{"settings.json", (*reader).settings},
	{"settings.local.json", (*reader).settings},
	{"hooks.json", (*reader).hooksFile},
	{filepath.Join("hooks", "hooks.json"), (*reader).hooksFile},
	{"config.json", (*reader).legacyModels},
}

// harmlessNames are what else stands in .factory and runs nothing: texts, and what a hook or a
// person has to name before it runs. droid 0.99 to 0.225 reads the texts of the first five
// alone (output-styles since 0.215).
var harmlessNames = []string{
	"commands", "droids", "hooks", "output-styles", "skills",
	"docs", "library", "memories", "missions", "prompts", "research", "rules", "scripts", "specs", "templates", "validation",
	".gitignore", ".gitkeep", ".gitattributes", ".DS_Store", "LICENSE",
}

// harmlessEndings are those of texts.
var harmlessEndings = []string{".md", ".mdx", ".txt"}

func isHarmless(name string) bool {
	return slices.Contains(harmlessNames, name) || slices.Contains(harmlessEndings, filepath.Ext(name)) || strings.HasPrefix(name, "README")
}

// factory reads a directory .factory.
func (r *reader) factory(folder string) {
	for _, c := range configs {
		path := filepath.Join(folder, c.name)
		r.link(path)
		c.read(r, path)
	}
	entries, err := os.ReadDir(folder)
	if err != nil && !isAbsent(err) {
		r.blind(Strange, folder, fmt.Sprintf("cannot be looked at: %v", err), folder+err.Error())
	}
	for n, e := range entries {
		path := filepath.Join(folder, e.Name())
		switch {
		case n == mostEntries:
			r.blind(Strange, folder, "has too many files to look at", folder)
			return
		case slices.ContainsFunc(configs, func(c config) bool { return c.name == e.Name() }):
		case isHarmless(e.Name()):
			r.link(path)
		default:
			r.strange(path)
		}
	}
}

// strange adds a file, or a directory, of which nobody knows what droid does with it.
func (r *reader) strange(path string) {
	whole := path
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		_, whole, _ = r.contents(path, info)
	}
	r.blind(Strange, path, "is unknown", whole)
}

// link adds a symbolic link that leads out of the project. What it leads to is read as droid
// reads it, but the project's history does not have it.
func (r *reader) link(path string) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return // it leads nowhere, and whoever reads it says so
	}
	if below, err := filepath.Rel(r.layer.Root, target); err != nil || !filepath.IsLocal(below) {
		r.blind(Strange, path, "is a link out of the project, to "+target, path+target)
	}
}

// config decodes a file of settings into values by their keys. It reports false where
// there is no such file, or where it could not be looked at: then it is an item. It is of
// the kind blind, which decides whether droid can be started without what it brings.
func (r *reader) config(path string, blind Kind) (values map[string]any, ok bool) {
	values, err := readStrictly(path)
	switch {
	case err == nil:
		return values, true
	case isAbsent(err):
		return nil, false
	}
	r.blind(blind, path, fmt.Sprintf("cannot be read: %v", err), path+err.Error())
	return nil, false
}

// blind adds a file that may bring anything of its kind; does says why nobody can tell.
func (r *reader) blind(kind Kind, path, does, whole string) {
	r.add(Item{Kind: kind, Name: filepath.Base(path), Does: does, File: path, whole: whole})
}

// isAbsent reports whether an error says that there is no such file. Any other only says
// that it could not be looked at.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// contents reads a file whose text tells what it is. An error comes with something else that
// does: its size and its time.
func (r *reader) contents(path string, info fs.FileInfo) (data []byte, whole string, err error) {
	err = errTooMuch
	if r.read += info.Size(); r.read <= maxRead {
		data, err = files.Read(path, MaxFile)
	}
	if err != nil {
		return nil, fmt.Sprintf("%d bytes of %v", info.Size(), info.ModTime().UnixNano()), err
	}
	return data, string(data), nil
}

// errTooMuch is why a file was not read.
var errTooMuch = errors.New("the files of the project are too large to look at")
