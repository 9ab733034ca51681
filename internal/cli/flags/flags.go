// Package flags has the table of droid-acp's settings: flags, environment variables, defaults and allowed values. Its main types are
// Setting, a row, and Values, the settings of one run. cmd/droid-acp builds the command line, its errors, --help, the man page and the
// completions from the rows, with cobra.
//
// A setting of several commands is a row of Common; one of a single command is in the row of that command, in cmd/droid-acp.
//
// A flag overrides its environment variable, and that overrides the default. An empty variable counts as unset.
package flags

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind determines how the text of a setting is read, checked and completed.
type Kind int

const (
	Text     Kind = iota // any text
	Choice               // one of Setting.Allowed
	Duration             // a duration in Go's notation, at least Setting.Least
	Switch               // on or off; the flag needs no value
	File                 // the path of a file
	Dir                  // the path of a directory
	Texts                // any text; the flag may be given several times
	Number               // a whole number, not below 0
)

// Setting is a row of the table.
type Setting struct {
	Name    string        // the flag without dashes
	Env     string        // the environment variable; "" if there is none
	Kind    Kind          // how the value is parsed
	Value   string        // the name of the value in help, for example "PATH"; "" for a Switch
	Allowed []string      // values of a Choice
	Least   time.Duration // minimum of a Duration
	Form    string        // the allowed values in words, if Allowed does not list them
	Default string        // the value if none is given
	Unset   string        // in words, the behaviour if no value is given and there is no Default
	Does    string        // its effect: a phrase without a full stop
	Hidden  bool          // it is in neither help nor documents

	// FoundElsewhere says that other code reads the environment variable, so that Values.ReadEnvironment does not.
	FoundElsewhere bool
}

// usage returns the help text of the setting, without its default.
func (s Setting) usage() string {
	text := s.Does
	switch s.Kind {
	case Choice:
		text += ": " + or(s.Allowed)
	case Texts:
		text += "; may be given several times"
	}
	if s.Env != "" {
		text += " [$" + s.Env + "]"
	}
	return text
}

// takes reports whether the text is a valid value.
func (s Setting) takes(text string) bool {
	switch s.Kind {
	case Choice:
		return slices.Contains(s.Allowed, text) || text == "" && s.Default == "" // the same as unset
	case Duration:
		d, err := time.ParseDuration(text)
		return err == nil && d >= s.Least
	case Switch:
		_, err := strconv.ParseBool(text)
		return err == nil
	case Number:
		_, err := strconv.ParseUint(text, 10, 31)
		return err == nil
	}
	return true
}

// allowed describes the valid values. Only a Choice, a Duration, a Switch and a Number do not accept every text.
func (s Setting) allowed() string {
	switch {
	case s.Form != "":
		return s.Form
	case s.Kind == Switch:
		return "true or false"
	case s.Kind == Number:
		return "a whole number"
	}
	return or(s.Allowed)
}

// or lists words: "a, b or c".
func or(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
