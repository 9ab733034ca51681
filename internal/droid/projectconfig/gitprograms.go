package projectconfig

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"droid-acp/internal/droid/config"
	"droid-acp/internal/sys/files"
)

// droid starts git by itself, and lets the model run git status, diff, log, show, blame and ls-files without a question (0.99 to 0.225;
// docs/dev/protocol.md has the commands). gitPrograms are the settings that make one of these start a program. Settings that droid.Command
// overrides without a question, since that has no cost, are not listed.
var gitPrograms = []struct {
	section, name string
	fetch         bool // only if git fetches missing objects, in a partial clone
}{
	{section: "filter", name: "clean"},
	{section: "filter", name: "smudge"}, // for an external diff
	{section: "filter", name: "process"},
	{section: "lfs", name: "clean"}, // of an extension that git-lfs starts
	{section: "lfs", name: "smudge"},
	{section: "lfs", name: "path"}, // of a custom transfer
	{section: "diff", name: "external"},
	{section: "diff", name: "command"},
	{section: "diff", name: "textconv"},
	{section: "diff", name: "submodule"}, // git log and show start git in any folder that a commit says is a repository
	{section: "status", name: "submodulesummary"},
	{section: "merge", name: "driver"}, // git log --remerge-diff
	{section: "gpg", name: "program"},
	{section: "hook", name: "command"}, // git 2.54 and newer
	{section: "core", name: "sshcommand", fetch: true},
	{section: "core", name: "gitproxy", fetch: true},
	{section: "core", name: "askpass", fetch: true},
	{section: "core", name: "alternaterefscommand"}, // git log --alternate-refs
	{section: "man", name: "cmd"},                   // git log --help
	{section: "man", name: "path"},
	{section: "browser", name: "cmd"},
	{section: "browser", name: "path"},
	{section: "credential", name: "helper", fetch: true},
	{section: "remote", name: "uploadpack", fetch: true},
	{section: "remote", name: "vcs", fetch: true},
	{section: "protocol", name: "allow", fetch: true},
	{section: "gc", name: "recentobjectshook", fetch: true},
}

// harmlessPrograms are values that start nothing from the repository: those that git-lfs itself writes, and git's own helpers.
var harmlessPrograms = sync.OnceValue(func() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"filter.lfs.clean":   regexp.MustCompile(`^git-lfs clean -- %f$`),
		"filter.lfs.smudge":  regexp.MustCompile(`^git-lfs smudge (--skip )?-- %f$`),
		"filter.lfs.process": regexp.MustCompile(`^git-lfs filter-process( --skip)?$`),
		"credential.helper":  regexp.MustCompile(`^(|cache|store|osxkeychain|manager|manager-core|wincred|libsecret|oauth)$`),
		"merge.ours.driver":  regexp.MustCompile(`^true$`), // as git's own documentation of .gitattributes has it
		"diff.submodule":     regexp.MustCompile(`^short$`),

		"status.submodulesummary": regexp.MustCompile(`^(false|no|off|0)$`),
	}
})

// gitHooks are the hooks that the same commands start. The last two belong to a fetch, or to a cache of texts (cachetextconv).
var gitHooks = []string{"post-index-change", "pre-auto-gc", "reference-transaction"}

// maxRepositories is the maximum number of nested repositories that are read.
const maxRepositories = 1000

// maxIndexSize is the maximum size of an index that is read, in bytes.
const maxIndexSize = 256 << 20

// gitReader reads the repositories that droid's git uses in a directory.
type gitReader struct {
	*reader
	home string
	seen map[[2]string]bool
	own  func() []gitSetting // the user's settings
}

// git reads what git starts in cwd. The user's own directory belongs to no project.
func (r *reader) git(cwd, home string) {
	g := gitReader{reader: r, home: home, seen: make(map[[2]string]bool), own: sync.OnceValue(func() (all []gitSetting) {
		for _, path := range []string{filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config", "git", "config"), "/etc/gitconfig"} {
			settings, _ := readGitConfig(path, home) // a setting that cannot be read does not count as the user's
			all = append(all, settings...)
		}
		return all
	})}
	for dir := cwd; ; dir = filepath.Dir(dir) {
		if dir != home {
			g.workTree(dir)
			g.bare(dir)
		}
		if config.IsRepository(filepath.Join(dir, ".git")) || dir == filepath.Dir(dir) {
			return
		}
	}
}

// workTree reads the repository of a working tree, if there is one.
func (g *gitReader) workTree(dir string) {
	own := dir + "/.git"
	info, err := os.Stat(own)
	switch {
	case config.IsAbsent(err):
	case err != nil:
		g.unread(Unread, own, err)
	case info.IsDir():
		g.repository(own, dir)
	default:
		data, err := files.Read(own, config.MaxFile)
		if err != nil {
			g.unread(Unread, own, err)
			return
		}
		if target, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), "gitdir: "); ok {
			g.repository(joinPath(dir, target), dir)
		}
	}
}

// bare reads a directory that is itself a repository. git before 2.38 uses it despite the settings of droid's git.
func (g *gitReader) bare(dir string) {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return !config.IsAbsent(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); !config.IsAbsent(err) && (has("commondir") || has("objects") && has("refs")) {
		g.repository(dir, dir)
	}
}

// joinPath returns a path, which may be relative to dir. It is not cleaned, see gitPath.
func joinPath(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return dir + "/" + path
}

// repository reads a repository with the working tree dir, and its nested repositories.
func (g *gitReader) repository(repository, dir string) {
	id := [2]string{files.RealPath(repository), files.RealPath(dir)}
	if g.seen[id] || len(g.seen) > maxRepositories {
		return
	}
	g.seen[id] = true
	if len(g.seen) > maxRepositories {
		g.unread(Unread, repository, errTooManyRepositories)
		return
	}
	common := repository
	if data, err := files.Read(repository+"/commondir", config.MaxFile); err == nil {
		common = joinPath(repository, strings.TrimRight(string(data), "\r\n"))
	} else if !config.IsAbsent(err) {
		g.unread(Unread, repository+"/commondir", err)
	}
	var settings []gitSetting
	for _, path := range []string{common + "/config", repository + "/config.worktree"} {
		more, faults := readGitConfig(path, g.home)
		settings = append(settings, more...)
		for _, f := range faults {
			g.unclear(Unread, filepath.Clean(f.file), fmt.Sprintf("cannot be read: %v", f.err))
		}
	}
	all := slices.Concat(settings, g.own())
	fetches := slices.ContainsFunc(settings, func(s gitSetting) bool {
		return s.key == "extensions.partialclone" || s.section() == "remote" && (s.name() == "promisor" || s.name() == "partialclonefilter")
	})
	var hookPaths, formats []gitSetting
	trees := []string{dir}
	for _, s := range settings {
		if g.runs(s, fetches) && !isOtherHook(s, all) {
			g.add(Item{Kind: GitProgram, Name: s.key, Does: s.value, File: filepath.Clean(s.file), whole: s.value})
		}
		switch s.key {
		case "core.hookspath":
			hookPaths = append(hookPaths, s)
		case "core.worktree":
			trees = append(trees, joinPath(repository, s.value))
		case "extensions.objectformat":
			formats = append(formats, s)
		}
	}
	for _, s := range g.own() {
		if s.key == "core.hookspath" && !strings.HasPrefix(s.value, "~") && !strings.HasPrefix(s.value, "%(") && !filepath.IsAbs(s.value) {
			hookPaths = append(hookPaths, s) // it belongs to the repository, wherever it is configured
		}
	}
	writes := fetches || slices.ContainsFunc(all, func(s gitSetting) bool { return s.section() == "diff" && s.name() == "cachetextconv" })
	hooks := []string{common + "/hooks"}
	for _, s := range hookPaths {
		hooks = append(hooks, g.hookDirs(s, trees)...)
	}
	slices.Sort(hooks)
	for _, hooks := range slices.Compact(hooks) {
		g.hooks(hooks, writes)
	}
	if len(formats) > 1 || len(formats) == 1 && formats[0].file != common+"/config" {
		g.unclear(Unread, filepath.Clean(common+"/config"), "does not say clearly which format the index has")
	}
	g.nested(repository, trees, len(formats) > 0 && formats[0].value == "sha256")
}

// errTooManyRepositories reports more than maxRepositories of them.
var errTooManyRepositories = errors.New("it is one of too many repositories")

// runs reports whether a repository's setting makes git start something that the user did not configure.
func (g *gitReader) runs(s gitSetting, fetches bool) bool {
	for _, p := range gitPrograms {
		if p.section != s.section() || p.name != s.name() || p.fetch && !fetches {
			continue
		}
		if harmless := harmlessPrograms()[s.key]; harmless != nil && harmless.MatchString(s.value) {
			return false
		}
		return !slices.ContainsFunc(g.own(), func(o gitSetting) bool { return o.key == s.key && o.value == s.value })
	}
	return false
}

// isOtherHook reports whether a setting is the command of a hook that none of droid's commands starts.
func isOtherHook(s gitSetting, all []gitSetting) bool {
	name, is := strings.CutSuffix(s.key, ".command")
	return is && s.section() == "hook" && !slices.ContainsFunc(all, func(o gitSetting) bool { return o.key == name+".event" && slices.Contains(gitHooks, o.value) })
}

// hookDirs returns the directories in which a setting makes git look for hooks: a relative one is in the working tree.
func (g *gitReader) hookDirs(s gitSetting, trees []string) (dirs []string) {
	for _, tree := range trees {
		path, ok := gitPath(s.value, tree+"/", g.home)
		if !ok {
			g.blind(Unread, s.file, "has hooks in a directory whose place only git knows: "+s.value, s.value)
			return nil
		}
		dirs = append(dirs, path)
	}
	return dirs
}

// hooks adds the hooks in a directory that one of droid's commands starts. writes means that some of these write references.
func (g *gitReader) hooks(dir string, writes bool) {
	names := gitHooks
	if !writes {
		names = names[:1]
	}
	for _, name := range names {
		path := dir + "/" + name
		info, err := os.Stat(path)
		if config.IsAbsent(err) || err == nil && info.IsDir() {
			continue
		}
		_, whole, err := g.contents(path)
		path = filepath.Clean(path)
		g.add(Item{Kind: GitProgram, Name: "hook " + name, Does: path, File: path, whole: whole, Unread: err != nil})
	}
}

// The modes of a nested repository in an index, and of a directory of a sparse index, whose files that does not list.
const (
	gitLink      = 0o160000
	gitDirectory = 0o040000
)

// nested reads the repositories in the index: git status inspects each of them.
func (g *gitReader) nested(repository string, trees []string, sha256 bool) {
	indexes := []string{repository + "/index"}
	entries, err := os.ReadDir(repository)
	if err != nil && !config.IsAbsent(err) { // git opens a shared index all the same
		g.unread(Unread, repository, err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "sharedindex.") {
			indexes = append(indexes, repository+"/"+e.Name())
		}
	}
	for _, index := range indexes {
		data, err := files.Read(index, maxIndexSize)
		if config.IsAbsent(err) {
			continue
		}
		var links, directories []string
		if err == nil {
			links, directories, err = gitLinks(data, sha256)
		}
		if err != nil {
			g.unclear(Unread, filepath.Clean(index), fmt.Sprintf("cannot be read: %v", err))
		}
		for _, tree := range trees {
			for _, link := range links {
				g.workTree(joinPath(tree, link))
			}
			for _, directory := range directories {
				g.unlisted(index, joinPath(tree, directory))
			}
		}
	}
}

// maxUnlisted is the maximum number of files in a directory of a sparse index that are looked at.
const maxUnlisted = 20_000

// unlisted reads the repositories in a directory of a sparse index: git looks into it if it is there.
func (g *gitReader) unlisted(index, directory string) {
	n := 0
	err := filepath.WalkDir(directory, func(path string, e os.DirEntry, err error) error {
		if n++; n > maxUnlisted {
			return errors.New("it has too many files")
		}
		switch {
		case config.IsAbsent(err): // the directory, or a file that was removed meanwhile
			return nil
		case err == nil && strings.EqualFold(e.Name(), ".git"):
			g.workTree(filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		g.blind(Unread, filepath.Clean(index), fmt.Sprintf("does not list what is in %s, and that cannot be looked at: %v", directory, err), directory)
	}
}

var errGitIndex = errors.New("is no index that is known here")

// gitLinks returns the paths of an index's entries that are repositories (gitformat-index), and of those that are directories.
func gitLinks(data []byte, sha256 bool) (links, directories []string, err error) {
	const header, stat, modeAt = 12, 40, 24
	if len(data) == 0 {
		return nil, nil, nil
	}
	if len(data) < header || string(data[:4]) != "DIRC" {
		return nil, nil, errGitIndex
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return nil, nil, errGitIndex
	}
	hash := 20
	if sha256 {
		hash = 32
	}
	rest, name := data[header:], []byte(nil)
	for range count {
		fixed := stat + hash + 2
		if len(rest) < fixed {
			return nil, nil, errGitIndex
		}
		flags := binary.BigEndian.Uint16(rest[stat+hash:])
		if flags&0x4000 != 0 { // git takes it in version 2, too
			fixed += 2
		}
		mode := binary.BigEndian.Uint32(rest[modeAt:]) & 0o170000
		begin := fixed
		if version == 4 { // the previous name without its last bytes, and a suffix
			cut, n := gitVarint(rest[min(fixed, len(rest)):])
			if n == 0 || cut > len(name) {
				return nil, nil, errGitIndex
			}
			name, begin = name[:len(name)-cut], fixed+n
		} else {
			name = name[:0]
		}
		length := bytes.IndexByte(rest[min(begin, len(rest)):], 0)
		if length < 0 {
			return nil, nil, errGitIndex
		}
		name = append(name, rest[begin:begin+length]...)
		if int(flags&0xfff) != min(len(name), 0xfff) { // by which git finds the next entry
			return nil, nil, errGitIndex
		}
		end := begin + length + 1
		if version < 4 {
			end = (fixed + length + 8) &^ 7
		}
		if end > len(rest) {
			return nil, nil, errGitIndex
		}
		rest = rest[end:]
		switch {
		case mode == gitLink && len(name) == 0:
			return nil, nil, errors.New("has a repository whose place stands in another index")
		case mode == gitLink:
			links = append(links, string(name))
		case mode == gitDirectory:
			directories = append(directories, string(name))
		}
	}
	return links, directories, nil
}

// gitVarint decodes a number in an index of version 4, and returns its length in bytes, 0 if there is none.
func gitVarint(data []byte) (value, n int) {
	for n < len(data) && n < 5 {
		c := data[n]
		n++
		value = value<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return value, n
		}
		value++
	}
	return 0, 0
}
