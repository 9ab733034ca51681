package projectconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"droid-acp/internal/droid/config"
	"droid-acp/internal/sys/files"
)

// Project reads the part of a project's files that is not known to be harmless, for a session in cwd. Files in home, the user's own
// directory, belong to no project. A file that cannot be read is itself an Item: it may contain anything.
func Project(cwd, home string) Layer {
	cwd, home = files.RealPath(cwd), files.RealPath(home) // as droid does
	dirs := config.ProjectDirs(cwd)
	r := reader{layer: Layer{Root: dirs[len(dirs)-1], CWD: cwd, Texts: TextStamp(cwd, home), Models: map[string]string{}}}
	r.preload(filepath.Join(cwd, Bunfig))
	for _, dir := range dirs {
		if dir != home {
			r.folder(dir)
		}
	}
	r.git(cwd, home)
	return r.layer
}

// Bunfig is the file of a Preload, a configuration file of Bun, droid's runtime.
const Bunfig = "bunfig.toml"

func (r *reader) preload(path string) {
	if _, err := os.Lstat(path); err != nil && config.IsAbsent(err) {
		return
	}
	r.unclear(Preload, path, "may name programs that an old droid runs as it starts")
}

// reader collects the items of a layer.
type reader struct {
	layer   Layer
	read    int64 // bytes, see maxRead
	entries int   // of unknown directories, see maxEntries
}

func (r *reader) add(i Item) { r.layer.Items = append(r.layer.Items, i) }

// folders are the names of the directories in which droid looks for a project's files: all kinds in .factory, commands and skills in the
// others (0.215, 0.225).
var folders = []string{".factory", ".agents", ".agent"}

// folder reads the files of one directory of the project.
func (r *reader) folder(dir string) {
	for _, name := range folders {
		folder := filepath.Join(dir, name)
		if _, err := os.Lstat(folder); err != nil && config.IsAbsent(err) {
			continue
		}
		r.layer.Found = true
		r.link(folder)
		r.programs(filepath.Join(folder, "commands"))
		if name == ".factory" {
			r.factoryFolder(folder)
		}
	}
}

// readers are the functions that read config.Names.
var readers = map[string]func(r *reader, path string){
	config.MCP: (*reader).servers, config.LocalSettings: (*reader).settings, config.Settings: (*reader).settings,
	config.Hooks: (*reader).hooksFile, config.NestedHooks: (*reader).hooksFile, config.OldModels: (*reader).legacyModels,
}

// harmlessNames are further names in .factory that run nothing: texts, and files that only run if a hook or a person names them. droid 0.99
// to 0.225 reads only the texts of the first five (output-styles since 0.215).
var harmlessNames = []string{
	"commands", "droids", "hooks", "output-styles", "skills",
	"docs", "library", "memories", "prompts", "research", "rules", "scripts", "specs", "templates", "validation",
	".gitignore", ".gitkeep", ".gitattributes", ".DS_Store", "LICENSE",
}

// ownNames occur in the programs of droid 0.99, 0.215 or 0.225: for files below the user's .factory, for those of a mission, which its
// prompts make the model read and run with tools that need a question, and for files that only Factory's desktop application uses. In a
// project's .factory these droids open none of them (verified with strace, in sessions with commands, subagents and searches).
var ownNames = []string{
	"artifacts", "auth.encrypted", "auth.v2.file", "auth.v2.key", "automations", "background-processes.json", "background-tasks.json", "bin",
	"blog_posts", "cache", "certs", "cli-hints.json", "computer.json", "crons", "generated-images", "history.json", "ide", "last-startup-version",
	"logs", "mcp-oauth.json", "mcp-oauth.v2.file", "mermaid", "mission-readiness-warnings-shown.json", "missions", "missionsV2", "profiles",
	"repl-runs", "run-state", "sessions", "sessions-index.json", "snapshots", "software-factory", "squads", "state", "task-invocations.json",
	"telemetry", "temp", "update-policy.json", "updates", "video", "worktree-setups",
	"canonical-artifact-layout.json", "features.json", "init.sh", "progress_log.jsonl", "services.yaml", "validation-state.json",
}

// harmlessEndings are the extensions of text files.
var harmlessEndings = []string{".md", ".mdx", ".txt"}

func isHarmless(name string) bool {
	return slices.Contains(harmlessNames, name) || slices.Contains(ownNames, name) || slices.Contains(harmlessEndings, filepath.Ext(name)) || strings.HasPrefix(name, "README")
}

// factoryFolder reads a directory .factory.
func (r *reader) factoryFolder(folder string) {
	for _, name := range config.Names {
		path := filepath.Join(folder, filepath.FromSlash(name))
		r.link(path)
		readers[name](r, path)
	}
	entries, err := os.ReadDir(folder)
	if err != nil && !config.IsAbsent(err) {
		r.unread(UnknownFile, folder, err)
	}
	for n, e := range entries {
		path := filepath.Join(folder, e.Name())
		switch {
		case n == maxEntries:
			r.unread(UnknownFile, folder, errTooMany)
			return
		case slices.Contains(config.Names, e.Name()):
		case isHarmless(e.Name()):
			r.link(path)
		case e.Name() == "plugins":
			r.unclear(Plugin, path, "is read for plugins")
		default:
			r.unclear(UnknownFile, path, "is unknown")
		}
	}
}

// errTooMany means that a directory has more than maxEntries entries.
var errTooMany = errors.New("it has too many files to look at")

// link adds a symbolic link that leads out of the project. Its target is read as droid reads it, but is not part of the project's history.
func (r *reader) link(path string) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return // a dangling link; its reader reports it
	}
	if below, err := filepath.Rel(r.layer.Root, target); err != nil || !filepath.IsLocal(below) {
		r.blind(UnknownFile, path, "is a link out of the project, to "+target, path+target)
	}
}

// config decodes a settings file into values by key. ok is false if the file does not exist, or could not be read: then it is added as an
// item of the kind blind, which decides whether droid can be started without it.
func (r *reader) config(path string, blind Kind) (values map[string]any, ok bool) {
	values, err := config.File{Path: path}.DecodeStrictly()
	if err != nil {
		r.unclear(blind, path, fmt.Sprintf("cannot be read: %v", err))
	}
	return values, values != nil
}

// unclear adds a file or directory that may contain anything of its kind; does says why that cannot be determined.
func (r *reader) unclear(kind Kind, path, does string) {
	whole, err := r.tree(path)
	r.add(Item{Kind: kind, Name: filepath.Base(path), Does: does, File: path, whole: path + whole, Unread: err != nil})
}

// unread adds a file or directory that was not read completely.
func (r *reader) unread(kind Kind, path string, why error) {
	r.add(Item{Kind: kind, Name: filepath.Base(path), Does: fmt.Sprintf("cannot be looked at: %v", why), File: path, whole: path + why.Error(), Unread: true})
}

// blind adds a file that may contain anything of its kind; does says why that cannot be determined.
func (r *reader) blind(kind Kind, path, does, whole string) {
	r.add(Item{Kind: kind, Name: filepath.Base(path), Does: does, File: path, whole: whole})
}
