package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// The descriptions that packages carry.
const (
	summary     = "ACP agent that runs Factory's droid in editors"
	description = summary + `
droid-acp puts Factory's droid coding agent into editors that speak the Agent
Client Protocol. The editor starts droid-acp, which runs droid as a child
process and translates both ways. It is an independent, unofficial bridge, not
made by Factory. droid itself is not contained; it is installed on its own.`
)

// docDir has what a package tells about itself.
const docDir = "/usr/share/doc/droid-acp"

// writeSystemPackages writes a .deb and a .rpm for each Linux.
func (r *release) writeSystemPackages() error {
	for _, s := range systems {
		if s.OS != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm"} {
			data, err := r.systemPackage(s, format)
			if err != nil {
				return fmt.Errorf("%s for %s: %w", format, s, err)
			}
			if err := r.keep(r.name(s.String()+"."+format), data); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *release) systemPackage(s system, format string) ([]byte, error) {
	contents, err := r.contents(s, format)
	if err != nil {
		return nil, err
	}
	version, prerelease, _ := strings.Cut(r.stamp.Version, "-")
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "droid-acp", Arch: s.Arch, Platform: s.OS,
		Version: version, Prerelease: prerelease, Release: "1",
		Section: "devel", Priority: "optional",
		Maintainer: r.Maintainer, Description: description, Homepage: r.Repository, License: "Apache-2.0",
		MTime: r.stamp.Time, DisableGlobbing: true,
	})
	if format == "deb" {
		info.License = "" // a .deb names it in the file copyright
	}
	info.Overridables.Umask = 0o022
	info.Overridables.Contents = contents
	info.Overridables.RPM.Summary = summary
	info.Overridables.RPM.BuildHost = "reproducible"
	info.Overridables.RPM.Packager = r.Maintainer
	info.Overridables.Deb.Compression, info.Overridables.RPM.Compression = "xz", "xz" // a tenth smaller than gzip
	packager, err := nfpm.Get(format)
	if err != nil {
		return nil, err
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = packager.Package(info, &b)
	return b.Bytes(), err
}

// contents returns the files of a package, laid down in the temporary directory, where
// nfpm reads them.
func (r *release) contents(s system, format string) (contents files.Contents, err error) {
	all, err := r.placed(format)
	if err != nil {
		return nil, err
	}
	add := func(source, at string, mode int64) {
		contents = append(contents, &files.Content{Source: source, Destination: at, FileInfo: &files.ContentFileInfo{
			Owner: "root", Group: "root", Mode: os.FileMode(mode), MTime: r.stamp.Time,
		}})
	}
	add(r.programs[s], "/usr/bin/droid-acp", 0o755)
	if format == "rpm" { // which else leaves it behind; dpkg does not
		contents = append(contents, &files.Content{Destination: docDir, Type: files.TypeDir, FileInfo: &files.ContentFileInfo{
			Owner: "root", Group: "root", Mode: 0o755, MTime: r.stamp.Time,
		}})
	}
	for i, p := range all {
		source := filepath.Join(r.work, fmt.Sprintf("%s-%s-%d", format, s, i))
		if err := writeFile(source, p.Data, 0o644); err != nil {
			return nil, err
		}
		add(source, p.Name, p.Mode)
	}
	return contents, nil
}

// placed returns the files other than the program, at the places where the distributions of that format look for them.
func (r *release) placed(format string) (all []packed, err error) {
	zsh, doc := "/usr/share/zsh/site-functions/_droid-acp", docDir+"/"
	if format == "deb" {
		zsh = "/usr/share/zsh/vendor-completions/_droid-acp"
	}
	for _, p := range []struct {
		extra, at string
		gzip      bool
	}{
		{"completions/droid-acp.bash", "/usr/share/bash-completion/completions/droid-acp", false},
		{"completions/_droid-acp", zsh, false},
		{"completions/droid-acp.fish", "/usr/share/fish/vendor_completions.d/droid-acp.fish", false},
		{"man/droid-acp.1", "/usr/share/man/man1/droid-acp.1.gz", true},
		{"README.md", doc + "README.md", false},
		{"CHANGELOG.md", doc + "changelog.gz", true},
		{"LICENSE", doc + "LICENSE", false},
		{"THIRD_PARTY_LICENSES", doc + "THIRD_PARTY_LICENSES.gz", true},
	} {
		if format == "deb" && p.extra == "LICENSE" {
			continue // Debian has the text in /usr/share/common-licenses
		}
		data, err := r.extra(p.extra)
		if err == nil && p.gzip {
			data, err = gzipped(data)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, packed{p.at, 0o644, data})
	}
	if format != "deb" {
		return all, nil
	}
	changes, err := gzipped([]byte(r.debianChangelog()))
	return append(all,
		packed{doc + "changelog.Debian.gz", 0o644, changes},
		packed{doc + "copyright", 0o644, []byte(debianCopyright)},
		packed{"/usr/share/lintian/overrides/droid-acp", 0o644, []byte(lintianOverrides)},
	), err
}

func (r *release) debianChangelog() string {
	return fmt.Sprintf("droid-acp (%s-1) unstable; urgency=medium\n\n  * Release %s. What changed is in changelog.gz.\n\n -- %s  %s\n",
		strings.Replace(r.stamp.Version, "-", "~", 1), r.stamp.Version, r.Maintainer, r.stamp.Time.Format(time.RFC1123Z))
}

const debianCopyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: droid-acp

Files: *
Copyright: 2026 The droid-acp authors
License: Apache-2.0
 On Debian systems the full text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.
Comment:
 The licences of Go and of the modules that are linked into the program are in
 /usr/share/doc/droid-acp/THIRD_PARTY_LICENSES.gz.
`

// lintianOverrides name what Debian's checker would complain of and is meant so.
const lintianOverrides = `# One program for all distributions, built by Go, which links statically.
droid-acp: statically-linked-binary [usr/bin/droid-acp]
# The package is not a part of Debian.
droid-acp: initial-upload-closes-no-bugs
`
