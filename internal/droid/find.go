package droid

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"droid-acp/internal/sys/subprocess"
)

// EnvDroid is the environment variable that names the droid program.
const EnvDroid = "DROID_ACP_DROID"

// SearchedPath is a path at which Find looked for droid.
type SearchedPath struct {
	Name string // "--droid", "$DROID_ACP_DROID", "by its name" or "the usual place"
	Path string // the path or name that was looked for
	Err  error
}

// NotFoundError means that there is no droid program. It lists where Find looked.
type NotFoundError struct{ Searched []SearchedPath }

// Error lists the searched paths.
func (e *NotFoundError) Error() string {
	var b strings.Builder
	b.WriteString("droid not found")
	for i, p := range e.Searched {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		b.WriteString(sep + p.describe())
	}
	return b.String()
}

// describe says what was found there.
func (p SearchedPath) describe() string {
	switch {
	case errors.Is(p.Err, subprocess.ErrNotFound):
		return fmt.Sprintf("%s (%s) is not in PATH", p.Path, p.Name)
	case errors.Is(p.Err, fs.ErrNotExist):
		return fmt.Sprintf("%s (%s) is not there", p.Path, p.Name)
	}
	why := p.Err
	if file, ok := errors.AsType[*fs.PathError](why); ok {
		why = file.Err // the path precedes it in the text
	}
	return fmt.Sprintf("%s (%s): %v", p.Path, p.Name, why)
}

// Find returns the path of the droid program: explicit (the flag --droid), otherwise $DROID_ACP_DROID, droid in PATH, or
// ~/.local/bin/droid. A program named by explicit or the variable must exist; no other one replaces it. The error is a *NotFoundError.
func Find(explicit string) (string, error) {
	for _, named := range []SearchedPath{{Name: "--droid", Path: explicit}, {Name: "$" + EnvDroid, Path: os.Getenv(EnvDroid)}} {
		if named.Path == "" {
			continue
		}
		path, err := lookPath(named.Path)
		if err != nil {
			named.Err = err
			return "", &NotFoundError{Searched: []SearchedPath{named}}
		}
		return path, nil
	}

	path, err := lookPath("droid")
	if err == nil {
		return path, nil
	}
	looked := []SearchedPath{{Name: "by its name", Path: "droid", Err: err}}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", &NotFoundError{Searched: append(looked, SearchedPath{Name: "the usual place", Path: "~/.local/bin/droid", Err: err})}
	}
	name := "droid"
	if runtime.GOOS == "windows" {
		name = "droid.exe"
	}
	local := filepath.Join(home, ".local", "bin", name)
	if path, err = lookPath(local); err == nil {
		return path, nil
	}
	return "", &NotFoundError{Searched: append(looked, SearchedPath{Name: "the usual place", Path: local, Err: err})}
}

// lookPath finds an executable and returns its absolute path, because droid runs in the directory of the session.
func lookPath(name string) (string, error) {
	path, err := subprocess.LookPath(name)
	if e, ok := errors.AsType[*subprocess.LookPathError](err); ok {
		return "", e.Err
	}
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}
