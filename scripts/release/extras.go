package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// generated are the files that the program generates about itself.
var generated = []struct {
	name string
	args []string
}{
	{"completions/droid-acp.bash", []string{"completion", "bash"}},
	{"completions/_droid-acp", []string{"completion", "zsh"}},
	{"completions/droid-acp.fish", []string{"completion", "fish"}},
	{"man/droid-acp.1", []string{"man"}},
}

// collectExtras reads further files, and makes the program generate some.
func (r *release) collectExtras() error {
	for _, name := range []string{"LICENSE", "packaging/README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.Root, name))
		if err != nil {
			return err
		}
		r.extras = append(r.extras, packed{path.Base(name), 0o644, data})
	}
	var err error
	if r.parts, err = r.linked(); err != nil {
		return err
	}
	r.extras = append(r.extras, packed{"THIRD_PARTY_LICENSES", 0o644, notices(r.parts)})
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
		r.extras = append(r.extras, packed{g.name, 0o644, []byte(text + "\n")})
	}
	return nil
}

// extra returns the content of a collected file.
func (r *release) extra(name string) ([]byte, error) {
	for _, e := range r.extras {
		if e.Name == name {
			return e.Data, nil
		}
	}
	return nil, fmt.Errorf("no file %s was collected", name)
}
