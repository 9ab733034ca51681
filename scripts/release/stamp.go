package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// stamp is the statement of origin in all files of a release.
type stamp struct {
	Version string    // "1.2.3" or "1.2.3-rc.1"
	Commit  string    // the commit's full hash; it ends in "-modified" when files differ from it
	Time    time.Time // the commit's, or $SOURCE_DATE_EPOCH; in UTC, whole seconds
}

// versionPattern is a semantic version without build metadata, which neither .deb nor
// npm would keep.
var versionPattern = regexp.MustCompile(`^v?((0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-` + prerelease + `(\.` + prerelease + `)*)?)$`)

// prerelease is one part of what follows the hyphen: a number without zeros before it,
// or a word.
const prerelease = `(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)`

// readStamp asks git, or the archive in which there is none. Without a version it takes the
// one tag of the commit that is a version, and fails when there is none or more than one.
func readStamp(root, version string) (s stamp, err error) {
	if _, err := os.Lstat(filepath.Join(root, ".git")); errors.Is(err, os.ErrNotExist) {
		return archiveStamp(root, version)
	}
	if s.Commit, err = git(root, "rev-parse", "HEAD"); err != nil {
		return s, err
	}
	changed, err := git(root, "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return s, err
	}
	if changed != "" {
		s.Commit += "-modified"
	}
	if version == "" {
		if version, err = tagVersion(root); err != nil {
			return s, err
		}
		if changed != "" {
			return s, errors.New("files differ from the tagged commit; commit or restore them, or give VERSION=1.2.3 to try a release")
		}
	}
	seconds, err := git(root, "log", "-1", "--format=%ct")
	if err != nil {
		return s, err
	}
	return s, s.set(version, seconds)
}

// archiveFile is the file in which git archive writes the commit and its time.
const archiveFile = "scripts/release/archive.txt"

// archiveStamp returns the stamp of a source archive, which does not know its tags.
func archiveStamp(root, version string) (s stamp, err error) {
	text, err := os.ReadFile(filepath.Join(root, archiveFile))
	if err != nil {
		return s, err
	}
	commit, seconds, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	switch {
	case strings.HasPrefix(commit, "$"):
		return s, errors.New("this is neither a clone nor what git archive makes, so it has no commit to name")
	case version == "":
		return s, errors.New("a source archive does not say its version; give VERSION=1.2.3")
	}
	s.Commit = commit
	return s, s.set(version, seconds)
}

// set takes the version, and the time of the commit unless $SOURCE_DATE_EPOCH says another.
func (s *stamp) set(version, seconds string) error {
	parts := versionPattern.FindStringSubmatch(version)
	if parts == nil {
		return fmt.Errorf("the version %q does not look like 1.2.3 or 1.2.3-rc.1", version)
	}
	if wanted := os.Getenv("SOURCE_DATE_EPOCH"); wanted != "" {
		seconds = wanted
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	s.Version, s.Time = parts[1], time.Unix(n, 0).UTC()
	return nil
}

func tagVersion(root string) (string, error) {
	tags, err := git(root, "tag", "--points-at", "HEAD")
	if err != nil {
		return "", err
	}
	var found []string
	for _, tag := range strings.Fields(tags) {
		if versionPattern.MatchString(tag) {
			found = append(found, tag)
		}
	}
	switch len(found) {
	case 0:
		return "", errors.New("the commit has no tag such as v1.2.3; tag it, or give VERSION=1.2.3")
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("the commit has several tags that are versions (%s); give VERSION", strings.Join(found, ", "))
}

func git(root string, args ...string) (string, error) {
	return output(root, nil, "git", args...)
}

// output runs a command in a directory and returns its trimmed stdout. An error has
// what it wrote to stderr.
func output(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
