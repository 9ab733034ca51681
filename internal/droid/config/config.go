// Package config finds droid's configuration files and decodes them. What their content means is decided by who reads
// them: droid for its processes, layer for trust, rules for /permissions, and the doctor.
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

// MaxFile is how large a file may be that is read here, in bytes.
const MaxFile = 4 << 20

// Error says where in a settings file something is wrong, and what. Nothing of what
// the file holds is in it.
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
	LocalSettings = "settings.local.json" // wins over Settings; droid reads no hooks there
	Settings      = "settings.json"
	Hooks         = "hooks.json" // the lists of hooks by their events, as under "hooks" in Settings
	NestedHooks   = "hooks/hooks.json"
	OldModels     = "config.json"
)

// Names are all of them.
var Names = []string{MCP, LocalSettings, Settings, Hooks, NestedHooks, OldModels}

// File is a configuration file, which need not exist.
type File struct {
	Dir  string // that has the .factory
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

// UserFiles returns the files with these names of the user whose directory is home.
func UserFiles(home string, names ...string) []File { return inDirs([]string{home}, names) }

// ProjectFiles returns the files with these names that droid reads for a session in cwd, the nearest directory first, and in
// one directory in the order of names. What stands in home is the user's and no project's.
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

// Decode decodes the file, which may have comments, and reports whether there is one. What cannot be decoded is an *Error.
// Of a key that is there twice the last counts, as for droid.
func (f File) Decode(into any) (found bool, err error) {
	data, err := f.read()
	if data == nil {
		return false, err
	}
	data = WithoutComments(data)
	return true, located(data, json.Unmarshal(data, into))
}

// read returns the text of the file, nil if there is none or it cannot be read.
func (f File) read() ([]byte, error) {
	data, err := files.Read(f.Path, MaxFile)
	if IsAbsent(err) {
		return nil, nil
	}
	return data, err
}

// Hooks decodes the lists of hooks in the file by their events: those under "hooks" in Settings, else the whole file.
func (f File) Hooks() (byEvent map[string]json.RawMessage, err error) {
	if f.Name != Settings {
		_, err = f.Decode(&byEvent)
		return byEvent, err
	}
	var settings map[string]json.RawMessage // of a struct any capitals would do
	if _, err = f.Decode(&settings); err != nil || settings["hooks"] == nil {
		return nil, err
	}
	if json.Unmarshal(settings["hooks"], &byEvent) != nil {
		err = errors.New(`"hooks" is of a kind that droid does not take`)
	}
	return byEvent, err
}

// IsAbsent reports whether an error says that there is no such file. Any other only says that it could not be looked at.
func IsAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// located says where an error of decoding data is.
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

// Position is the line and the column of a byte, in characters, both from 1.
func Position(data []byte, offset int) (line, column int) {
	before := data[:max(0, min(offset, len(data)))]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[begin:]) + 1
}
