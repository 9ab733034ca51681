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

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/sys/files"
)

// checkHome checks that the home directory and droid's directory in it are usable.
func checkHome(p *inspection, _ context.Context) Check {
	if _, err := os.UserHomeDir(); err != nil {
		return problemCheck(diagnosis.NoHome(err), nil)
	}
	if p.factory == "" {
		return Check{Result: Failure, Found: fmt.Sprintf("$HOME is %q and $%s is %q: droid needs an absolute path.", p.Home, envHome, os.Getenv(envHome)),
			ToDo: "Set HOME to your home directory, and unset " + envHome + "."}
	}
	if _, err := os.Stat(p.Home + string(filepath.Separator) + "."); err != nil {
		return faultCheck([]fault{{p.Home, "be used", err}}, nil)
	}
	if _, err := os.ReadDir(p.factory); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return faultCheck([]fault{{p.factory, "be used", err}}, nil)
	}
	kept := droid.StoredLogin(p.factory)
	return Check{Result: OK, Found: "droid keeps its files in " + p.factory + ".", tells: func(p *inspection) { p.login = kept }}
}

// fault is a file or a directory that cannot be used.
type fault struct {
	path string
	what string // the operation that fails
	err  error
}

// faultCheck returns the check for faults. Each remedy is listed once.
func faultCheck(faults []fault, facts map[string]any) Check {
	var words, todo []string
	for _, f := range faults {
		said := f.path + " cannot " + f.what + ": " + errorText(f.err)
		if errors.Is(f.err, syscall.ENOTDIR) {
			said = f.path + " is no directory."
		}
		remedy := diagnosis.FileRemedy(f.path, f.err)
		switch {
		case f.path == os.TempDir() && !errors.Is(f.err, syscall.ENOSPC):
			remedy = "Set TMPDIR to a directory that belongs to you, or make that one."
		case remedy == "":
			remedy = "Look whether it is there and belongs to you, and whether HOME is your home directory."
		}
		words = append(words, said)
		if !slices.Contains(todo, remedy) {
			todo = append(todo, remedy)
		}
	}
	check := warningCheck(nil, words, todo, facts)
	check.Result = Failure
	return check
}

// checkState checks that droid-acp and droid can write their files: temporary files, the journal of edits, the file of links, droid's
// sessions. droid exits if it cannot read one of its files (0.225).
func checkState(p *inspection, _ context.Context) Check {
	home, ownFiles := p.blocked["home"], "own files"
	if home != "" && strings.HasPrefix(os.TempDir(), p.Home+string(filepath.Separator)) {
		return Check{Result: Skipped, Found: fmt.Sprintf("Not looked at, because of %q above.", home), tells: func(p *inspection) { p.blocked["temp"] = home }}
	}
	faults := writable(nil, os.TempDir())
	noTemp := len(faults) > 0
	links := filepath.Join(p.factory, store.LinksName)
	facts := map[string]any{"journal": p.Journal, "links": links}
	if home == "" {
		for _, dir := range append(projectsOf(filepath.Join(p.factory, "sessions"), p.Dir), p.Journal) {
			faults = writable(faults, dir)
		}
		faults = append(faults, unreadable(p.factory)...) // the checks of settings, MCP servers and hooks skip these
		faults = append(faults, unreadable(filepath.Join(p.factory, "state"))...)
	}
	switch {
	case noTemp:
		check := faultCheck(faults, facts)
		check.tells = func(p *inspection) { p.blocked["temp"] = ownFiles }
		return check
	case len(faults) > 0:
		return faultCheck(faults, facts)
	case home != "":
		return Check{Result: Skipped, Found: fmt.Sprintf("Temporary files can be written. The others were not looked at, because of %q above.", home)}
	}
	if file, err := os.OpenFile(links, os.O_WRONLY, 0); err == nil {
		_ = file.Close() // nothing was written
	} else if !errors.Is(err, fs.ErrNotExist) {
		return Check{Result: Warning, Found: links + " cannot be written: " + errorText(err), Facts: facts,
			ToDo: "Make it a file of yours with the mode 0600. Without it a thread goes back to an earlier conversation after a restart."}
	}
	left, _ := os.ReadDir(p.Journal) // it exists only while it has content
	facts["edits"] = len(left)
	if len(left) > 0 {
		return Check{Result: Warning, Found: fmt.Sprintf("%s in %s: a droid-acp runs, or one was killed during an edit.", counted(len(left), "edit"), p.Journal), Facts: facts,
			ToDo: "The next start of droid-acp mends what was left. An entry that stays is explained in docs/features.md."}
	}
	return Check{Result: OK, Found: "Temporary files, the journal of edits, the links of threads and droid's sessions in this directory can be written.", Facts: facts}
}

// projectsOf returns the directories in which droid keeps the sessions of a project: 0.225 resolves symbolic links first, 0.99 does not.
func projectsOf(sessions, dir string) (all []string) {
	for _, d := range []string{dir, files.RealPath(dir)} {
		name := strings.ReplaceAll(strings.TrimPrefix(d, filepath.VolumeName(d)), string(filepath.Separator), "-")
		all = append(all, filepath.Join(sessions, name))
	}
	return all
}

// testSize is how much must fit on a disk, in bytes.
const testSize = 256 << 10

// writable adds a fault if files cannot be written in a directory, or in its nearest existing parent. It leaves nothing there.
func writable(faults []fault, dir string) []fault {
	info, err := os.Stat(dir)
	switch {
	case (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) && filepath.Dir(dir) != dir && dir != os.TempDir():
		return writable(faults, filepath.Dir(dir))
	case err == nil && !info.IsDir():
		err = syscall.ENOTDIR
	case err == nil:
		err = fill(filepath.Join(dir, "file"))
	}
	if err == nil || slices.ContainsFunc(faults, func(f fault) bool { return f.path == dir }) {
		return faults
	}
	return append(faults, fault{dir, "be written", err})
}

// fill writes a draft for this path, and removes it.
func fill(path string) error {
	d, err := files.NewUnnamedDraft(path)
	if err != nil {
		d, err = files.NewDraft(path, 0o600)
	}
	if err != nil {
		return err
	}
	defer d.Discard()
	if _, err = d.Write(make([]byte, testSize)); err == nil {
		err = d.Sync()
	}
	if errors.Is(err, syscall.EINVAL) { // unsupported by the file system
		return nil
	}
	return err
}

// unreadable returns the files in a directory that cannot be read, or the directory itself.
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
		if errors.Is(err, fs.ErrPermission) {
			all = append(all, fault{path, "be read", err})
		}
		if err == nil {
			_ = file.Close() // nothing was read
		}
	}
	return all
}

// checkVariables checks the environment variables of droid-acp.
func checkVariables(p *inspection, _ context.Context) Check {
	if len(p.UnknownVariables) > 0 {
		return Check{Result: Warning, Found: strings.Join(p.UnknownVariables, ". ") + ".", ToDo: "Correct the name of the variable, or unset it. " + diagnosis.Command("--help") + " lists all."}
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

// checkKeep checks what --keep needs: a path for the server's socket, and, if a server runs, that it answers and has this version. Without
// --keep none of it matters.
func checkKeep(p *inspection, ctx context.Context) Check {
	if p.Keep == nil {
		return Check{Result: Skipped, Found: "Not looked at."}
	}
	kept := p.Keep(ctx)
	check := Check{Result: OK, Found: kept.Found, ToDo: kept.ToDo, Facts: map[string]any{"socket": kept.Socket}}
	if faults := []fault(nil); kept.ToDo == "" && kept.Socket != "" {
		if faults = writable(faults, filepath.Dir(kept.Socket)); len(faults) > 0 {
			check = faultCheck(faults, check.Facts)
		}
	}
	if check.ToDo != "" {
		check.Result = Warning
	}
	return check
}
