package main

import (
	"bytes"
	"path/filepath"
	"text/template"
)

// writeFormula renders packaging/homebrew/droid-acp.rb.tmpl with the address and the
// checksum of each archive.
func (r *release) writeFormula() error {
	text, err := template.New("droid-acp.rb.tmpl").Option("missingkey=error").Funcs(template.FuncMap{
		"url":    func(os, arch string) string { return r.archiveURL(system{os, arch}) },
		"sha256": func(os, arch string) (string, error) { return r.checksum(r.archiveName(system{os, arch})) },
	}).ParseFiles(filepath.Join(r.Root, "packaging", "homebrew", "droid-acp.rb.tmpl"))
	if err != nil {
		return err
	}
	homepage := r.Repository
	if homepage == "" {
		homepage = r.BaseURL
	}
	var b bytes.Buffer
	if err := text.Execute(&b, map[string]string{"Version": r.stamp.Version, "Homepage": homepage, "Summary": summary}); err != nil {
		return err
	}
	return r.keep("droid-acp.rb", b.Bytes())
}

// archiveURL returns the download address of a system's archive.
func (r *release) archiveURL(s system) string { return r.BaseURL + "/" + r.archiveName(s) }
