// Package settings is the one table of what droid-acp can be told: flags,
// environment variables, defaults, what is allowed, and who reads it. The command
// line, its errors, --help, docs/options.md, the man page and the completions are
// all made of its rows.
//
// A setting that several commands read is a row of Common; one that a single command
// reads stands in that command's Own. A command is a Command and a function that runs
// it; cmd/droid-acp/commands.go has the list, and its head says how to add one.
//
// A flag wins over its environment variable, and that over the default. An empty
// variable counts as one that is not set.
package settings

import (
	"slices"
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

	// FoundElsewhere: somebody else reads the environment variable, so that Resolve does not.
	FoundElsewhere bool
}

// Command is a row of the table of commands: all but the function that runs it.
type Command struct {
	Name    string      // "" for serving
	Args    string      // what its usage calls the arguments; "" if it takes none
	MaxArgs int         // how many arguments it takes; -1 for any number
	Words   []string    // the words that it takes one of; nil if any will do
	Summary string      // a phrase, in lower case
	Long    string      // further sentences
	Reads   []string    // which rows of Common it reads
	Own     []Setting   // rows that only this command has
	Exclude [][2]string // flags that contradict each other
	Exits   []Exit      // its exit codes
	// Examples are shown in the help and on the man page.
	Examples []Example
	Hidden   bool // neither help nor documents name it

	// PassesOver: flags of Common that it does not read are no error. Clients append the
	// arguments of a login to those of the agent.
	PassesOver bool
	// Strict: an unknown variable DROID_ACP_… is an error, not a warning.
	Strict bool
}

// Exit is an exit code and what it means.
type Exit struct {
	Code  int
	Means string
}

// Example is a call of a command and what it does: a phrase without a full stop.
type Example struct{ Call, Does string }

// Title is how the command is called in a shell.
func (c Command) Title() string {
	if c.Name == "" {
		return "droid-acp"
	}
	return "droid-acp " + c.Name
}

// Word is the command's name in a sentence.
func (c Command) Word() string {
	if c.Name == "" {
		return "serving"
	}
	return c.Name
}

// Settings are the rows that the command reads, the shared ones first.
func (c Command) Settings() []Setting {
	rows := make([]Setting, 0, len(c.Reads)+len(c.Own))
	for _, row := range Common() {
		if slices.Contains(c.Reads, row.Name) {
			rows = append(rows, row)
		}
	}
	return append(rows, c.Own...)
}

// Flags are the rows whose flags the command line of the command may have: those that it
// reads and those that it passes over.
func (c Command) Flags() []Setting {
	if c.PassesOver {
		return append(Common(), c.Own...)
	}
	return c.Settings()
}
