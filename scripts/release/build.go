package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// system is an operating system and architecture, by Go's names.
type system struct{ OS, Arch string }

// systems are the supported systems.
var systems = []system{
	{"linux", "amd64"}, {"linux", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// program returns the file name of the program.
func (s system) program() string {
	if s.OS == "windows" {
		return "droid-acp.exe"
	}
	return "droid-acp"
}

func (s system) String() string { return s.OS + "_" + s.Arch }

// buildPrograms builds for all systems, or the one in Options.Only. The linker sets the
// version, since Go's own, read from git, depends on how the repository was cloned.
func (r *release) buildPrograms() error {
	flags := fmt.Sprintf("-s -w -buildid= -X main.Version=%s -X main.Commit=%s -X main.Date=%s",
		r.stamp.Version, r.stamp.Commit, r.stamp.Time.Format(time.RFC3339))
	for _, s := range systems {
		if r.Only != "" && r.Only != s.OS+"/"+s.Arch {
			continue
		}
		file := filepath.Join(r.work, s.String(), s.program())
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		_, err := output(r.Root, []string{"CGO_ENABLED=0", "GOOS=" + s.OS, "GOARCH=" + s.Arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off"},
			"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", file, "./cmd/droid-acp")
		if err != nil {
			return err
		}
		if err := os.Chmod(file, 0o755); err != nil {
			return err
		}
		r.programs[s] = file
	}
	if len(r.programs) == 0 {
		return fmt.Errorf("%q is none of %v", r.Only, systems)
	}
	return nil
}

// keepPrograms writes the programs unchanged.
func (r *release) keepPrograms() error {
	for s, file := range r.programs {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(r.Out, s.String()+"_"+s.program()), data, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// ours returns the program for this system. It generates its manual and completions.
func (r *release) ours() (string, error) {
	if file, ok := r.programs[system{runtime.GOOS, runtime.GOARCH}]; ok {
		return file, nil
	}
	return "", fmt.Errorf("no program is built for %s/%s, so none can be run here to write the manual", runtime.GOOS, runtime.GOARCH)
}
