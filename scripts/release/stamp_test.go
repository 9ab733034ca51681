package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newRepository is a repository with one commit, and what runs git in it.
func newRepository(t *testing.T) (root string, do func(args ...string)) {
	t.Helper()
	root = t.TempDir()
	do = func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-01-02T03:04:05+0200")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), []byte("one"), 0o644))
	do("init", "-q")
	do("add", "file")
	do("commit", "-q", "-m", "one")
	return root, do
}

func TestVersionIsTheTagOrTheOneGiven(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	root, do := newRepository(t)
	_, err := readStamp(root, "")
	require.ErrorContains(t, err, "no tag such as v1.2.3")

	do("tag", "not-a-version")
	do("tag", "v1.2.3")
	s, err := readStamp(root, "")
	require.NoError(t, err)
	require.Equal(t, "1.2.3", s.Version)
	require.Regexp(t, "^[0-9a-f]{40}$", s.Commit)
	require.Equal(t, time.Date(2026, 1, 2, 1, 4, 5, 0, time.UTC), s.Time)

	s, err = readStamp(root, "v2.0.0-rc.1")
	require.NoError(t, err)
	require.Equal(t, "2.0.0-rc.1", s.Version)

	do("tag", "v1.2.4")
	_, err = readStamp(root, "")
	require.ErrorContains(t, err, "several tags")
}

func TestVersionsThatNoPackageCanHave(t *testing.T) {
	root, _ := newRepository(t)
	for _, version := range []string{"1.2", "1.2.3.4", "01.2.3", "1.2.3+build", "latest", "1.2.3 ", "1.2.3-", "1.2.3-01", "1.2.3-rc.00", "vv1.2.3"} {
		_, err := readStamp(root, version)
		require.ErrorContains(t, err, "does not look like 1.2.3", version)
	}
}

func TestChangedFilesAreNoReleaseOfATag(t *testing.T) {
	root, do := newRepository(t)
	do("tag", "v1.2.3")
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), []byte("two"), 0o644))
	_, err := readStamp(root, "")
	require.ErrorContains(t, err, "differ from the tagged commit")
	s, err := readStamp(root, "1.2.3")
	require.NoError(t, err)
	require.Regexp(t, "-modified$", s.Commit)
}

func TestSourceDateEpochReplacesTheCommitsTime(t *testing.T) {
	root, _ := newRepository(t)
	t.Setenv("SOURCE_DATE_EPOCH", "1000000000")
	s, err := readStamp(root, "1.2.3")
	require.NoError(t, err)
	require.Equal(t, time.Unix(1_000_000_000, 0).UTC(), s.Time)
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	_, err = readStamp(root, "1.2.3")
	require.ErrorContains(t, err, "SOURCE_DATE_EPOCH")
}

// An archive of the sources has no git, and says all but its version.
func TestReleaseOfASourceArchive(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	root, do := newRepository(t)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "scripts/release"), 0o755))
	attributes, err := os.ReadFile("../../.gitattributes")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, ".gitattributes"), attributes, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, archiveFile), []byte("$Format:%H %ct$\n"), 0o644))
	do("add", ".")
	do("commit", "-q", "-m", "two")
	want, err := readStamp(root, "1.2.3")
	require.NoError(t, err)

	archive := t.TempDir()
	do("archive", "-o", filepath.Join(archive, "a.tar"), "HEAD")
	_, err = output(archive, nil, "tar", "-xf", "a.tar")
	require.NoError(t, err)
	got, err := readStamp(archive, "1.2.3")
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = readStamp(archive, "")
	require.ErrorContains(t, err, "give VERSION=1.2.3")

	require.NoError(t, os.RemoveAll(filepath.Join(root, ".git")))
	_, err = readStamp(root, "1.2.3")
	require.ErrorContains(t, err, "neither a clone nor")
}

func TestADirectoryOfOthersIsNotEmptied(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "droid-acp_1.2.3_linux_amd64.tar.gz")
	require.NoError(t, os.WriteFile(old, nil, 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	require.ErrorContains(t, emptyDir(dir), "sub")
	require.NoError(t, os.Remove(filepath.Join(dir, "sub")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o644))
	require.ErrorContains(t, emptyDir(dir), "thesis.txt")
	require.FileExists(t, old)
	require.NoError(t, os.Rename(filepath.Join(dir, "thesis.txt"), filepath.Join(dir, "SHA256SUMS")))
	require.NoError(t, emptyDir(dir))
	require.NoFileExists(t, old)
	require.NoFileExists(t, filepath.Join(dir, "SHA256SUMS"))
}

// A release says whose it is, or is none.
func TestNamesThatAreNone(t *testing.T) {
	for names, fits := range map[[2]string]bool{
		{"@you", "You <you@example.com>"}: true, {"", "You <you@example.com>"}: false, {"you", "You <you@example.com>"}: false, {"@You", "You <you@example.com>"}: false,
		{"@you", ""}: false, {"@you", "You"}: false, {"@you", "you@example.com"}: false,
	} {
		err := (&release{Options: Options{Scope: names[0], Maintainer: names[1]}}).checkNames()
		require.Equal(t, fits, err == nil, "%v: %v", names, err)
	}
}

// A licence that nobody has looked at, or none, is no part of a release.
func TestLicensesAreKnown(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n Version 2.0, January 2004\n": "Apache-2.0", "MIT\nPermission is hereby granted, free\nof charge": "MIT",
		"Redistribution and use in source and binary forms. Neither the name": "BSD-3-Clause", "Redistribution and use in source and binary forms.": "BSD-2-Clause",
		"Permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted, provided": "ISC",
		"All rights reserved.": "",
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "LICENSE"), []byte(text), 0o644))
		p, err := licensed(module{Path: "e.com/m"}, dir)
		if want == "" {
			require.ErrorContains(t, err, "nobody has looked at")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []string{want}, p.spdx)
	}
	_, err := licensed(module{}, t.TempDir())
	require.ErrorContains(t, err, "no licence file")
}

// What is linked into the program today may be passed on: a new module whose licence is not known stops the
// release, and is noticed before that.
func TestLicensesOfTheProgramAreKnown(t *testing.T) {
	r := &release{Options: Options{Root: "../..", Only: runtime.GOOS + "/" + runtime.GOARCH}, work: t.TempDir(), programs: map[system]string{}}
	require.NoError(t, r.buildPrograms())
	parts, err := r.linked()
	require.NoError(t, err)
	require.Greater(t, len(parts), 1)
}

// An address stands in a formula, in a registry entry and in packages as it is.
func TestAddressesThatAreNone(t *testing.T) {
	root, _ := newRepository(t)
	for address, fits := range map[string]bool{"https://forge.example.com/you/droid-acp": true, "http://127.0.0.1:8080/d": true, "you/droid-acp": false, "https://e.com/a b": false,
		`https://e.com/"x`: false, "https://e.com/#{x}": false, "https:///x": false, "javascript:x": false, "https://e.com/a\nb": false, "git@e.com:x/y": false} {
		for _, o := range []Options{{Repository: address}, {BaseURL: address}} {
			o.Root, o.Out, o.Version, o.Scope, o.Maintainer = root, t.TempDir(), "1.2.3", "@you", "You <you@example.com>"
			r := &release{Options: o}
			if err := r.prepare(); fits {
				require.NoError(t, err)
				require.NoError(t, os.RemoveAll(r.work))
			} else {
				require.ErrorContains(t, err, "does not look like https://", address)
			}
		}
	}
}
