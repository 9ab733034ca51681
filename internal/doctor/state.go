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

	"droid-acp/internal/files"
	"droid-acp/internal/store"
)

// lookAtState looks whether droid-acp and droid can write what they keep: the journal of
// edits, the file of links, droid's sessions.
func lookAtState(p *patient, _ context.Context) Check {
	if p.factory == "" || p.Journal == "" {
		return Check{Result: Failure, Found: "It is not known where to keep files, since your home directory is not known.", ToDo: "Set HOME to your home directory."}
	}
	links := filepath.Join(p.factory, store.LinksName)
	facts := map[string]any{"journal": p.Journal, "links": links}
	for _, dir := range []string{filepath.Join(p.factory, "sessions"), p.Journal} {
		if err := writable(dir); err != nil {
			return Check{Result: Failure, Found: "Nothing can be written in " + dir + ": " + plainly(err), Facts: facts,
				ToDo: "Make it a directory that belongs to you and is writable, with room on the disk."}
		}
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
	return Check{Result: OK, Found: "The journal of edits, the links of threads and droid's sessions can be written.", Facts: facts}
}

// lookAtVariables looks at the variables that are for droid-acp.
func lookAtVariables(p *patient, _ context.Context) Check {
	if len(p.Strays) > 0 {
		return Check{Result: Warning, Found: strings.Join(p.Strays, ". ") + ".", ToDo: "Correct the name of the variable, or unset it. `droid-acp --help` lists all."}
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

// writable reports what keeps files from being written in a directory, or in the nearest
// one above that is there. Nothing is left.
func writable(dir string) error {
	for {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return &fs.PathError{Op: "open", Path: dir, Err: errors.New(dir + " is no directory")}
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
			return err
		}
		dir = filepath.Dir(dir)
	}
	d, err := files.Begin(filepath.Join(dir, "file"), 0o600)
	if err == nil {
		d.Discard()
	}
	return err
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
