package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
)

// extra is a file that goes beside the program into each archive.
type extra struct {
	Name string // in the archive, with slashes
	Data []byte
}

// generated are the files that the program writes about itself.
var generated = []struct {
	name string
	args []string
}{
	{"completions/droid-acp.bash", []string{"completion", "bash"}},
	{"completions/_droid-acp", []string{"completion", "zsh"}},
	{"completions/droid-acp.fish", []string{"completion", "fish"}},
	{"man/droid-acp.1", []string{"man"}},
}

// collectExtras reads, and has the program write, what goes beside it.
func (r *release) collectExtras() error {
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.Root, name))
		if err != nil {
			return err
		}
		r.extras = append(r.extras, extra{name, data})
	}
	notices, err := r.thirdPartyLicenses()
	if err != nil {
		return err
	}
	r.extras = append(r.extras, extra{"THIRD_PARTY_LICENSES", notices})
	program, err := r.ours()
	if err != nil {
		return err
	}
	for _, g := range generated {
		text, err := output(r.work, []string{"HOME=" + r.work}, program, g.args...)
		if err != nil {
			return err
		}
		if text == "" {
			return fmt.Errorf("droid-acp %s wrote nothing", strings.Join(g.args, " "))
		}
		r.extras = append(r.extras, extra{g.name, []byte(text + "\n")})
	}
	return nil
}

// extra is the content of a collected file.
func (r *release) extra(name string) ([]byte, error) {
	for _, e := range r.extras {
		if e.Name == name {
			return e.Data, nil
		}
	}
	return nil, fmt.Errorf("no file %s was collected", name)
}

// module is a module that is linked into the programs.
type module struct{ Path, Version, Sum string }

// modules are those of all programs together, sorted, as the programs themselves
// name them.
func (r *release) modules() ([]module, error) {
	seen := make(map[module]bool)
	for _, file := range r.programs {
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, d := range info.Deps {
			if d.Replace != nil {
				return nil, fmt.Errorf("%s is replaced, and a release is to be built from what others can get", d.Path)
			}
			seen[module{d.Path, d.Version, d.Sum}] = true
		}
	}
	all := make([]module, 0, len(seen))
	for m := range seen {
		all = append(all, m)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Path < all[j].Path })
	return all, nil
}

// thirdPartyLicenses are the licences of what is linked into the programs: Go's own
// and each module's.
func (r *release) thirdPartyLicenses() ([]byte, error) {
	var b strings.Builder
	b.WriteString("droid-acp contains the following software under these licences.\n")
	goroot, err := output(r.Root, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	if err := addLicense(&b, "Go "+strings.TrimPrefix(runtime.Version(), "go"), goroot); err != nil {
		return nil, err
	}
	modules, err := r.modules()
	if err != nil {
		return nil, err
	}
	args := []string{"list", "-m", "-json"}
	for _, m := range modules {
		args = append(args, m.Path)
	}
	list, err := output(r.Root, []string{"GOFLAGS=-mod=mod", "GOWORK=off"}, "go", args...)
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(strings.NewReader(list)); ; {
		var m struct{ Path, Version, Dir string }
		if err := decoder.Decode(&m); err == io.EOF {
			return []byte(b.String()), nil
		} else if err != nil {
			return nil, err
		}
		if err := addLicense(&b, m.Path+" "+m.Version, m.Dir); err != nil {
			return nil, err
		}
	}
}

// addLicense adds the licence files of a directory under a headline. A directory
// without one is an error: what has no licence must not be passed on.
func addLicense(b *strings.Builder, headline, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICENSE") && !strings.HasPrefix(name, "LICENCE") && !strings.HasPrefix(name, "COPYING") && !strings.HasPrefix(name, "NOTICE") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(b, "\n%s\n%s, %s\n\n%s\n", strings.Repeat("=", 78), headline, e.Name(), strings.TrimSpace(string(data)))
	}
	if !found {
		return fmt.Errorf("%s has no licence file", headline)
	}
	return nil
}
