// Package config finds droid's configuration files and decodes them; its main type is File. The callers interpret the content: package
// droid for its processes, projectconfig for trust, rules for /permissions, and the doctor.
package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
	"unicode/utf8"

	"droid-acp/internal/sys/files"
)

// MaxFile is the maximum size of a file that is read, in bytes.
const MaxFile = 4 << 20

// Error says where in a settings file an error is, and which. It contains nothing of the file's content.
type Error struct {
	Line, Column int // from 1, in characters
	What         string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.What)
}

// Names of configuration files in a directory .factory (0.99 to 0.225; droid before 0.215 does not read Hooks).
const (
	MCP           = "mcp.json"
	LocalSettings = "settings.local.json" // overrides Settings; droid reads no hooks from it
	Settings      = "settings.json"
	Hooks         = "hooks.json" // the lists of hooks by event, as under "hooks" in Settings
	NestedHooks   = "hooks/hooks.json"
	OldModels     = "config.json"
)

// Names are all of these names.
var Names = []string{MCP, LocalSettings, Settings, Hooks, NestedHooks, OldModels}

// File is a configuration file, which may not exist.
type File struct {
	Dir  string // the directory with the .factory
	Name string
	Path string
}

func inDirs(dirs, names []string) (found []File) {
	for _, dir := range dirs {
		for _, name := range names {
			found = append(found, File{dir, name, filepath.Join(dir, ".factory", filepath.FromSlash(name))})
		}
	}
	return found
}

// UserFiles returns the files with these names of the user with the home directory home.
func UserFiles(home string, names ...string) []File { return inDirs([]string{home}, names) }

// ProjectFiles returns the files with these names that droid reads for a session in cwd, the nearest directory first, and in a directory in
// the order of names. Files in home are the user's, not the project's.
func ProjectFiles(cwd, home string, names ...string) []File {
	home = files.RealPath(home)
	return inDirs(slices.DeleteFunc(ProjectDirs(files.RealPath(cwd)), func(dir string) bool { return dir == home }), names)
}

// OrganizationFiles returns the paths at which an organization may have settings for the user (0.215, 0.225).
func OrganizationFiles(home string) []string {
	return []string{
		filepath.Join(home, ".factory", "cache", "org-managed-settings.json"),
		filepath.Join(home, ".factory", "org-managed-settings.cache.json"),
		filepath.FromSlash("/etc/factory/settings.json"),
		filepath.FromSlash("/Library/Application Support/Factory/settings.json"),
		`C:\Program Files\Factory\settings.json`,
	}
}

// Decode decodes the file, which may contain comments, and reports whether it exists. A decoding error is an *Error. Of duplicate keys the
// last one counts, as in droid.
func (f File) Decode(into any) (found bool, err error) {
	data, err := f.read()
	if data == nil {
		return false, err
	}
	data = WithoutComments(data)
	return true, located(data, json.Unmarshal(data, into))
}

// read returns the text of the file, nil if it does not exist or cannot be read.
func (f File) read() ([]byte, error) {
	data, err := files.Read(f.Path, MaxFile)
	if IsAbsent(err) {
		return nil, nil
	}
	return data, err
}

// Hooks decodes the file's lists of hooks by event: those under "hooks" in Settings, otherwise the whole file.
func (f File) Hooks() (byEvent map[string]json.RawMessage, err error) {
	if f.Name != Settings {
		_, err = f.Decode(&byEvent)
		return byEvent, err
	}
	var settings map[string]json.RawMessage // not a struct: its fields would match in any case
	if _, err = f.Decode(&settings); err != nil || settings["hooks"] == nil {
		return nil, err
	}
	if json.Unmarshal(settings["hooks"], &byEvent) != nil {
		err = errors.New(`"hooks" is of a kind that droid does not take`)
	}
	return byEvent, err
}

// IsAbsent reports whether an error means that there is no such file. Any other error means that the file could not be checked.
func IsAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// located adds the position to an error of decoding data.
func located(data []byte, err error) error {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	at, what := 0, ""
	switch {
	case errors.As(err, &syntax):
		at, what = max(0, int(syntax.Offset)-1), "this is no JSON"
		before := bytes.TrimRight(data[:at], " \t\r\n")
		switch {
		case syntax.Error() == "unexpected end of JSON input":
			at, what = len(data), "the file ends before the JSON does"
		case bytes.HasSuffix(before, []byte(",")) && (data[at] == '}' || data[at] == ']'):
			at, what = len(before)-1, "there is nothing behind this comma"
		}
	case errors.As(err, &mismatch) && mismatch.Field == "":
		what = "it is no JSON object"
	case errors.As(err, &mismatch):
		at, what = int(mismatch.Offset)-1, fmt.Sprintf("%q is of a kind that droid does not take", mismatch.Field)
	default:
		return err
	}
	line, column := Position(data, at)
	return &Error{line, column, what}
}

// Position returns the line and the column of a byte, in characters, both from 1.
func Position(data []byte, offset int) (line, column int) {
	before := data[:max(0, min(offset, len(data)))]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[begin:]) + 1
}
