package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// module is a module that is linked into the programs.
type module struct{ Path, Version, Sum string }

// part is Go itself, named std, or a module, with its licences.
type part struct {
	module
	notices string   // the texts of its licences
	spdx    []string // their SPDX identifiers
}

// modules returns the modules of all programs, sorted, as listed in the programs
// themselves.
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
	return slices.SortedFunc(maps.Keys(seen), func(a, b module) int { return strings.Compare(a.Path, b.Path) }), nil
}

// linked returns the components of the programs: Go first, then the modules.
func (r *release) linked() ([]part, error) {
	modules, err := r.modules()
	if err != nil {
		return nil, err
	}
	goroot, err := output(r.Root, nil, "go", "env", "GOROOT")
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
	dirs := map[string]string{"std": goroot}
	for decoder := json.NewDecoder(strings.NewReader(list)); ; {
		var m struct{ Path, Dir string }
		if err := decoder.Decode(&m); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		dirs[m.Path] = m.Dir
	}
	var parts []part
	for _, m := range append([]module{{Path: "std", Version: strings.TrimPrefix(runtime.Version(), "go")}}, modules...) {
		p, err := licensed(m, dirs[m.Path])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// notices returns the licences of all parts.
func notices(parts []part) []byte {
	var b strings.Builder
	b.WriteString("droid-acp contains the following software under these licences.\n")
	for _, p := range parts {
		b.WriteString(p.notices)
	}
	return []byte(b.String())
}

// licensed reads the licence files of a directory. A directory without any is an error,
// since code without a licence must not be distributed. So is an unknown licence.
func licensed(m module, dir string) (part, error) {
	p, called := part{module: m}, m.Path
	if called == "std" {
		called = "Go"
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return p, err
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		notice := strings.HasPrefix(name, "NOTICE")
		if e.IsDir() || !notice && !strings.HasPrefix(name, "LICENSE") && !strings.HasPrefix(name, "LICENCE") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return p, err
		}
		p.notices += fmt.Sprintf("\n%s\n%s %s, %s\n\n%s\n", strings.Repeat("=", 78), called, m.Version, e.Name(), strings.TrimSpace(string(data)))
		if notice {
			continue
		}
		ids := spdxOf(string(data))
		if len(ids) == 0 {
			return p, fmt.Errorf("nobody has looked at the licence in %s; when it may be passed on, add its words to spdxOf", e.Name())
		}
		p.spdx = append(p.spdx, ids...)
	}
	if len(p.spdx) == 0 {
		return p, fmt.Errorf("it has no licence file")
	}
	slices.Sort(p.spdx)
	p.spdx = slices.Compact(p.spdx)
	return p, nil
}

// spdxOf returns the SPDX identifiers of the licences in a text, by words that no other has.
func spdxOf(text string) (ids []string) {
	text = strings.Join(strings.Fields(text), " ")
	has := func(words string) bool { return strings.Contains(text, words) }
	switch bsd := has("Redistribution and use in source and binary forms"); {
	case bsd && has("Neither the name"):
		ids = append(ids, "BSD-3-Clause")
	case bsd:
		ids = append(ids, "BSD-2-Clause")
	}
	for words, id := range map[string]string{
		"Permission is hereby granted, free of charge":                                                      "MIT",
		"Licensed under the Apache License, Version 2.0":                                                    "Apache-2.0",
		"Permission to use, copy, modify, and distribute this software for any purpose with or without fee": "ISC",
		"Apache License Version 2.0, January 2004":                                                          "Apache-2.0",
	} {
		if has(words) {
			ids = append(ids, id)
		}
	}
	return ids
}
