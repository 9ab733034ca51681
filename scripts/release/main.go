// Command release builds everything that a release offers for download, from the
// commit that is checked out, into one directory without subdirectories:
//
//	archives            linux, macOS and Windows, amd64 and arm64
//	.deb and .rpm       linux
//	npm packages        the launcher, and one package for each system
//	SBOM                CycloneDX, what the programs are made of
//	Homebrew formula    only when the address of the downloads is given
//	ACP registry entry  the same
//	SHA256SUMS          of all of these
//
// The same commit, version and Go give the same bytes, wherever and whenever it is
// run: all times are the commit's. It is a separate module, so that packaging tools
// are not dependencies of the program.
//
// `make release` runs it.
package main

import (
	"flag"
	"fmt"
	"io"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Options configure a release.
type Options struct {
	Root       string // the repository
	Out        string // the directory to fill; it is emptied first
	Version    string // "1.2.3" or "1.2.3-rc.1", with or without "v"; empty for the tag of the commit
	Repository string // the address of the published repository, or empty while there is none
	BaseURL    string // where Out's files will be downloaded; empty for the forge's address under Repository
	Scope      string // the npm scope, with "@"
	Maintainer string // "Name <mail>" for .deb and .rpm
	Only       string // "linux/amd64" builds the programs alone, for this system; empty for everything
}

func main() {
	var o Options
	flag.StringVar(&o.Root, "root", "../..", "the repository")
	flag.StringVar(&o.Out, "out", "../../dist", "the directory to fill, emptied first")
	flag.StringVar(&o.Version, "version", "", "the version (default: the tag of the commit)")
	flag.StringVar(&o.Repository, "repository", "", "the address of the published repository")
	flag.StringVar(&o.BaseURL, "base-url", "", "the address of the release's downloads (default: REPOSITORY/releases/download/vVERSION)")
	flag.StringVar(&o.Scope, "scope", "", "the npm scope, such as @you")
	flag.StringVar(&o.Maintainer, "maintainer", "", "who maintains the .deb and .rpm, such as \"You <you@example.com>\"")
	flag.StringVar(&o.Only, "only", "", "build the program for one system alone, such as linux/amd64")
	flag.Parse()
	if err := run(o, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "release: "+err.Error())
		os.Exit(1)
	}
}

// release is one run of the command.
type release struct {
	Options
	stamp    stamp
	work     string            // a temporary directory
	programs map[system]string // the built programs
	extras   []packed          // further files of each archive
	parts    []part            // their components
}

func run(o Options, progress io.Writer) error {
	r := &release{Options: o, programs: make(map[system]string)}
	if err := r.prepare(); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	for _, step := range r.steps() {
		fmt.Fprintln(progress, "release "+r.stamp.Version+": "+step.what)
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	if r.Only == "" && r.BaseURL == "" {
		fmt.Fprintln(progress, "release: no Homebrew formula and no registry entry, as nobody said where the files will be downloaded (REPOSITORY or BASE_URL)")
	}
	return nil
}

type step struct {
	what string
	do   func() error
}

func (r *release) steps() []step {
	if r.Only != "" {
		return []step{{"programs", r.buildPrograms}, {"copies", r.keepPrograms}}
	}
	steps := []step{
		{"programs", r.buildPrograms},
		{"licences, completions and manual", r.collectExtras},
		{"archives", r.writeArchives},
		{".deb and .rpm", r.writeSystemPackages},
		{"npm packages", r.writeNpm},
		{"SBOM", r.writeSBOM},
	}
	if r.BaseURL != "" {
		steps = append(steps, step{"Homebrew formula", r.writeFormula}, step{"registry entry", r.writeRegistryEntry})
	}
	return append(steps, step{"checksums", r.writeChecksums})
}

func (r *release) prepare() (err error) {
	if r.Root, err = filepath.Abs(r.Root); err != nil {
		return err
	}
	if r.Out, err = filepath.Abs(r.Out); err != nil {
		return err
	}
	if r.stamp, err = readStamp(r.Root, r.Version); err != nil {
		return err
	}
	if r.Only == "" {
		if err := r.checkNames(); err != nil {
			return err
		}
	}
	for _, address := range []string{r.Repository, r.BaseURL} {
		if address != "" && !addressPattern.MatchString(address) {
			return fmt.Errorf("the address %q does not look like https://forge.example.com/you/droid-acp", address)
		}
	}
	if r.BaseURL == "" && r.Repository != "" {
		r.BaseURL = r.Repository + "/releases/download/v" + r.stamp.Version
	}
	if err := emptyDir(r.Out); err != nil {
		return err
	}
	r.work, err = os.MkdirTemp("", "droid-acp-release-")
	return err
}

// checkNames returns an error if packages would not name their origin.
func (r *release) checkNames() error {
	if !regexp.MustCompile(`^@[a-z0-9][a-z0-9._-]*$`).MatchString(r.Scope) {
		return fmt.Errorf("the npm scope %q does not look like @name; give SCOPE", r.Scope)
	}
	if who, err := mail.ParseAddress(r.Maintainer); err != nil || who.Name == "" {
		return fmt.Errorf("the maintainer %q does not look like Name <mail>; give MAINTAINER", r.Maintainer)
	}
	return nil
}

// addressPattern matches an address that can be inserted unquoted into a formula and into JSON.
var addressPattern = regexp.MustCompile(`^https?://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~%+/-]*)?$`)

// emptyDir creates a directory, or removes the files in it. A directory with files
// that no release creates is not changed.
func emptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ours := strings.Contains(e.Name(), "droid-acp") || e.Name() == "SHA256SUMS"; e.IsDir() || !ours {
			return fmt.Errorf("%s has %s, which no release makes; choose another place or remove it", dir, e.Name())
		}
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// name returns the name of a versioned file of the release: droid-acp_1.2.3_REST.
func (r *release) name(rest string) string { return "droid-acp_" + r.stamp.Version + "_" + rest }

// keep writes a file of the release.
func (r *release) keep(name string, data []byte) error {
	return writeFile(filepath.Join(r.Out, name), data, 0o644)
}

// writeFile writes a file with exactly this mode, whatever the umask.
func writeFile(path string, data []byte, mode os.FileMode) error {
	if err := os.WriteFile(path, data, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}
