// Package layer reads the files from which droid takes its settings: those of a project,
// in the .factory directories from a session's directory up to the root of its git
// repository, and those of the user. It starts nothing and changes nothing.
package layer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"droid-acp/internal/sys/files"
)

// MaxFile is how large a file may be that is read here, in bytes.
const MaxFile = 4 << 20

// ConfigError says where in a settings file something is wrong, and what. Nothing of what
// the file holds is in it.
type ConfigError struct {
	Line, Column int // from 1, in characters
	What         string
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.What)
}

// ReadConfig decodes a settings file, which may have comments. A missing file is
// fs.ErrNotExist; what cannot be decoded is a *ConfigError.
func ReadConfig(path string, into any) error {
	data, err := files.Read(path, MaxFile)
	if err != nil {
		return err
	}
	data = WithoutComments(data)
	return configError(data, json.Unmarshal(data, into))
}

// configError says where an error of decoding data is.
func configError(data []byte, err error) error {
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
	return &ConfigError{line, column, what}
}

// Position is the line and the column of a byte, in characters, both from 1.
func Position(data []byte, offset int) (line, column int) {
	before := data[:max(0, min(offset, len(data)))]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[begin:]) + 1
}
