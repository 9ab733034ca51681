package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// npmOS and npmArch map Go's names to Node's.
var (
	npmOS   = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}
	npmArch = map[string]string{"amd64": "x64", "arm64": "arm64"}
)

// manifest is a package.json.
type manifest struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	License              string            `json:"license"`
	Repository           string            `json:"repository,omitempty"`
	Keywords             []string          `json:"keywords,omitempty"`
	Bin                  map[string]string `json:"bin,omitempty"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	Engines              map[string]string `json:"engines,omitempty"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"`
	PublishConfig        map[string]string `json:"publishConfig"`
}

// npmName returns the name of the launcher's package. The name without a scope belongs
// to another project.
func (r *release) npmName() string { return r.Scope + "/droid-acp" }

func npmSuffix(s system) string { return "-" + npmOS[s.OS] + "-" + npmArch[s.Arch] }

// npmFile returns the file of a package, for a suffix such as "-linux-x64".
func (r *release) npmFile(suffix string) string {
	return "npm-droid-acp" + suffix + "-" + r.stamp.Version + ".tgz"
}

func (r *release) manifest(suffix string) manifest {
	return manifest{
		Name: r.npmName() + suffix, Version: r.stamp.Version,
		Description: summary, License: "Apache-2.0", Repository: r.Repository,
		PublishConfig: map[string]string{"access": "public"}, // npm keeps a package with a scope private otherwise
	}
}

// writeNpm writes a package for each system, which contains the program, and the
// launcher, which makes npm install the matching one and starts the program in it.
func (r *release) writeNpm() error {
	fits := make(map[string]string)
	for _, s := range systems {
		program, err := os.ReadFile(r.programs[s])
		if err != nil {
			return err
		}
		m := r.manifest(npmSuffix(s))
		m.Description += " (the program for " + npmOS[s.OS] + " " + npmArch[s.Arch] + ")"
		m.OS, m.CPU, m.PreferUnplugged = []string{npmOS[s.OS]}, []string{npmArch[s.Arch]}, true
		fits[m.Name] = m.Version
		about := fmt.Sprintf("# %s\n\nThe program of the package %s for %s %s. Install that package, not this one.\n",
			m.Name, r.npmName(), npmOS[s.OS], npmArch[s.Arch])
		if err := r.writeNpmPackage(npmSuffix(s), m, packed{"bin/" + s.program(), 0o755, program}, packed{"README.md", 0o644, []byte(about)}); err != nil {
			return err
		}
	}
	m := r.manifest("")
	m.Keywords = []string{"acp", "agent-client-protocol", "droid"}
	m.Bin, m.OptionalDependencies = map[string]string{"droid-acp": "bin/droid-acp.js"}, fits
	m.Engines = map[string]string{"node": ">=18"}
	launcher, err := os.ReadFile(filepath.Join(r.Root, "packaging", "npm", "droid-acp.js"))
	if err != nil {
		return err
	}
	about, err := os.ReadFile(filepath.Join(r.Root, "packaging", "npm", "README.md"))
	if err != nil {
		return err
	}
	return r.writeNpmPackage("", m, packed{"bin/droid-acp.js", 0o755, launcher},
		packed{"README.md", 0o644, []byte(strings.ReplaceAll(string(about), "@SCOPE/droid-acp", r.npmName()))})
}

// writeNpmPackage writes what `npm pack` would: everything below "package". It does not
// use npm, whose output depends on its version.
func (r *release) writeNpmPackage(suffix string, m manifest, files ...packed) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	files = append([]packed{{"package.json", 0o644, append(text, '\n')}}, files...)
	for _, name := range []string{"LICENSE", "THIRD_PARTY_LICENSES"} {
		data, err := r.extra(name)
		if err != nil {
			return err
		}
		files = append(files, packed{name, 0o644, data})
	}
	for i := range files {
		files[i].Name = "package/" + files[i].Name
	}
	data, err := tarGz(files, r.stamp.Time)
	if err != nil {
		return err
	}
	return r.keep(r.npmFile(suffix), data)
}
