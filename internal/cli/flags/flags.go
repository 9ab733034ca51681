// Package flags is the one table of what droid-acp can be told: flags, environment
// variables, defaults, what is allowed. The command line, its errors, --help,
// the man page and the completions are made of its rows, by cobra.
//
// A setting that several commands read is a row of Common; one that a single command
// reads stands in the row of that command, in cmd/droid-acp.
//
// A flag wins over its environment variable, and that over the default. An empty
// variable counts as one that is not set.
package flags

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind says how the text of a setting is read, checked and completed.
type Kind int

const (
	Text     Kind = iota // any text
	Choice               // one of Setting.Allowed
	Duration             // a time by Go's notation, not less than Setting.Least
	Switch               // on or off; the flag needs no value
	File                 // the path of a file
	Dir                  // the path of a directory
	Texts                // any text; the flag may be given several times
)

// Setting is a row of the table.
type Setting struct {
	Name    string        // the flag without its dashes
	Env     string        // the environment variable; "" if there is none
	Kind    Kind          // how the value is read
	Value   string        // what help calls the value, for example "PATH"; "" for a Switch
	Allowed []string      // the values of a Choice
	Least   time.Duration // the least of a Duration
	Form    string        // what is allowed, in words, where Allowed does not say it
	Default string        // the value where none is given
	Unset   string        // in words, what holds where none is given and there is no Default
	Does    string        // what it does: a phrase without a full stop
	Hidden  bool          // neither help nor documents name it

	// FoundElsewhere: somebody else reads the environment variable, so that
	// Values.ReadEnvironment does not.
	FoundElsewhere bool
}

// usage is what help says of the setting, but for its default.
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

// takes reports whether the text is a value of the setting.
func (s Setting) takes(text string) bool {
	switch s.Kind {
	case Choice:
		return slices.Contains(s.Allowed, text) || text == "" && s.Default == "" // what else would hold
	case Duration:
		d, err := time.ParseDuration(text)
		return err == nil && d >= s.Least
	case Switch:
		_, err := strconv.ParseBool(text)
		return err == nil
	}
	return true
}

// allowed says what the setting takes, in words. Only a Choice, a Duration and a Switch
// do not take every text.
func (s Setting) allowed() string {
	switch {
	case s.Form != "":
		return s.Form
	case s.Kind == Switch:
		return "true or false"
	}
	return or(s.Allowed)
}

// or lists words: "a, b or c".
func or(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
