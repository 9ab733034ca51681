package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"droid-acp/internal/diagnosis"
	"droid-acp/internal/files"
	"droid-acp/internal/store"
)

// lookAtHome looks whether the home directory and droid's directory in it can be used.
func lookAtHome(p *patient, _ context.Context) Check {
	if _, err := os.UserHomeDir(); err != nil {
		return failed(diagnosis.NoHome(err), nil)
	}
	if p.factory == "" {
		return Check{Result: Failure, Found: fmt.Sprintf("$HOME is %q and $%s is %q: droid needs an absolute path.", p.Home, envHome, os.Getenv(envHome)),
			ToDo: "Set HOME to your home directory, and unset " + envHome + "."}
	}
	for _, dir := range []string{p.Home, p.factory} {
		_, err := os.Stat(dir + string(filepath.Separator) + ".")
		if dir == p.factory && err == nil {
			_, err = os.ReadDir(dir)
		}
		if err != nil && !(dir == p.factory && errors.Is(err, fs.ErrNotExist)) {
			faults := []fault{{dir, "be used", err}}
			return Check{Result: Failure, Found: wordsOf(faults), ToDo: remedyOf(faults)}
		}
	}
	kept := keptLogin(p.factory)
	return Check{Result: OK, Found: "droid keeps its files in " + p.factory + ".", tells: func(p *patient) { p.login = kept }}
}

// fault is a file or a directory that cannot be used.
type fault struct {
	path string
	what string // what cannot be done with it
	err  error
}

// lookAtState looks whether droid-acp and droid can write what they keep: temporary files,
// the journal of edits, the file of links, droid's sessions. A file of droid's own that it
// cannot read ends it (0.225).
func lookAtState(p *patient, _ context.Context) Check {
	var faults []fault
	if home := p.blocked["home"]; home != "" && strings.HasPrefix(os.TempDir(), p.Home+string(filepath.Separator)) {
		return Check{Result: Skipped, Found: fmt.Sprintf("Not looked at, because of %q above.", home), tells: func(p *patient) { p.blocked["temp"] = home }}
	}
	temp := writable(os.TempDir())
	if temp != nil {
		faults = append(faults, *temp)
	}
	links, sessions := filepath.Join(p.factory, store.LinksName), filepath.Join(p.factory, "sessions")
	facts := map[string]any{"journal": p.Journal, "links": links}
	if p.blocked["home"] == "" {
		for _, dir := range append(projectsOf(sessions, p.Dir), p.Journal) {
			if f := writable(dir); f != nil && !slices.ContainsFunc(faults, func(g fault) bool { return g.path == f.path }) {
				faults = append(faults, *f)
			}
		}
		faults = append(faults, unreadable(p.factory)...) // the checks of settings, MCP servers and hooks pass over these
		faults = append(faults, unreadable(filepath.Join(p.factory, "state"))...)
	}
	switch {
	case len(faults) > 0:
		check := Check{Result: Failure, Found: wordsOf(faults), ToDo: remedyOf(faults), Facts: facts}
		if temp != nil {
			check.tells = func(p *patient) { p.blocked["temp"] = "own files" }
		}
		return check
	case p.blocked["home"] != "":
		return Check{Result: Skipped, Found: fmt.Sprintf("Temporary files can be written. The others were not looked at, because of %q above.", p.blocked["home"])}
	}
	if err := openable(links); err != nil {
		return Check{Result: Warning, Found: links + " cannot be written: " + plainly(err), Facts: facts,
			ToDo: "Make it a file of yours with the mode 0600. Without it a thread goes back to an earlier conversation after a restart."}
	}
	left := entries(p.Journal)
	facts["edits"] = left
	if left > 0 {
		return Check{Result: Warning, Found: fmt.Sprintf("%s in %s: a droid-acp runs, or one was killed during an edit.", counted(left, "edit"), p.Journal), Facts: facts,
			ToDo: "The next start of droid-acp mends what was left. An entry that stays is explained in docs/editor-files.md."}
	}
	return Check{Result: OK, Found: "Temporary files, the journal of edits, the links of threads and droid's sessions in this directory can be written.", Facts: facts}
}

// projectsOf are the directories in which droid keeps the sessions of a project: 0.225
// resolves symbolic links first, 0.99 does not.
func projectsOf(sessions, dir string) []string {
	all := []string{filepath.Join(sessions, strings.ReplaceAll(dir, string(filepath.Separator), "-"))}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		all = append(all, filepath.Join(sessions, strings.ReplaceAll(real, string(filepath.Separator), "-")))
	}
	return all
}

// wordsOf names what cannot be used, each cause once.
func wordsOf(faults []fault) string {
	var order []string
	paths := map[string][]string{}
	for _, f := range faults {
		key := " cannot " + f.what + ": " + plainly(f.err)
		if errors.Is(f.err, syscall.ENOTDIR) {
			key = " is no directory."
		}
		if paths[key] == nil {
			order = append(order, key)
		}
		paths[key] = append(paths[key], f.path)
	}
	var sentences []string
	for _, key := range order {
		sentences = append(sentences, some(paths[key], "file")+key)
	}
	return strings.Join(sentences, " ")
}

// remedyOf says what to do, each thing once.
func remedyOf(faults []fault) string {
	var all []string
	for _, f := range faults {
		remedy := diagnosis.Unusable(f.path, f.err)
		switch {
		case f.path == os.TempDir() && !errors.Is(f.err, syscall.ENOSPC):
			remedy = "Set TMPDIR to a directory that belongs to you, or make that one."
		case remedy == "":
			remedy = "Look whether it is there and belongs to you, and whether HOME is your home directory."
		}
		if !slices.Contains(all, remedy) {
			all = append(all, remedy)
		}
	}
	return strings.Join(all, " ")
}

// room is what has to go onto a disk, in bytes.
const room = 256 << 10

// writable is what keeps files from being written in a directory, or in the nearest one
// above that is there, nil for nothing. Nothing is left.
func writable(dir string) *fault {
	info, err := os.Stat(dir)
	switch {
	case (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) && filepath.Dir(dir) != dir && dir != os.TempDir():
		return writable(filepath.Dir(dir))
	case err == nil && !info.IsDir():
		err = syscall.ENOTDIR
	case err == nil:
		var d *files.Draft
		if d, err = files.Nameless(filepath.Join(dir, "file")); err != nil {
			d, err = files.Begin(filepath.Join(dir, "file"), 0o600)
		}
		if err == nil {
			defer d.Discard()
			_, err = d.Write(make([]byte, room))
		}
		if err == nil {
			if err = d.Sync(); errors.Is(err, syscall.EINVAL) { // a file system that cannot
				err = nil
			}
		}
	}
	if err != nil {
		return &fault{dir, "be written", err}
	}
	return nil
}

// unreadable are the files of a directory that cannot be read, and the directory itself.
func unreadable(dir string) (all []fault) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []fault{{dir, "be read", err}}
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.Type().IsRegular() || !strings.HasSuffix(path, ".json") && !strings.HasPrefix(e.Name(), "auth.") {
			continue
		}
		file, _, err := files.Open(path)
		if err != nil {
			all = append(all, fault{path, "be read", err})
			continue
		}
		_ = file.Close() // it was only opened
	}
	return all
}

// openable reports what keeps a file from being written, without a change of it. One
// that is not there yet is made when it is needed.
func openable(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return file.Close()
}

// entries is how many files a directory has, 0 when it is not there.
func entries(dir string) int {
	found, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	return len(found)
}

// lookAtVariables looks at the variables that are for droid-acp.
func lookAtVariables(p *patient, _ context.Context) Check {
	if len(p.Strays) > 0 {
		return Check{Result: Warning, Found: strings.Join(p.Strays, ". ") + ".", ToDo: "Correct the name of the variable, or unset it. " + diagnosis.Command("--help") + " lists all."}
	}
	var set []string
	for _, v := range os.Environ() {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "DROID_ACP_") && value != "" {
			set = append(set, name)
		}
	}
	slices.Sort(set)
	if len(set) == 0 {
		return Check{Result: OK, Found: "No variable DROID_ACP_… is set."}
	}
	return Check{Result: OK, Found: "Set here: " + list(set) + "."}
}
