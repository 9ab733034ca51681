package main

import (
	"io"

	"droid-acp/internal/settings"
)

// To add a command NAME: in a file of its own, a function nameCommand that returns a
// subcommand, whose row says its flags and the settings that it reads (settings.Command), and
// whose run reads them by call.values and returns the exit code; and a line in commands.
// --help, the errors, docs/options.md, the man page and the completions follow from the
// row; `go test ./cmd/droid-acp -run TestOptionsPage -update` writes the page anew.
//
// To add a flag to one command, add a settings.Setting to its Own. A flag of several
// commands is a row of settings.Common, whose name stands in the Reads of each of them.

// subcommand is a row of the table of commands, and the function that runs it.
type subcommand struct {
	settings.Command
	run func(*call) (exitCode int)
}

// commands are all commands; the first serves.
func commands() []subcommand {
	return []subcommand{
		serveCommand(""),
		loginCommand(),
		smokeCommand(),
		doctorCommand(),
		trustCommand(),
		installDroidCommand(),
		completionCommand(),
		manCommand(),
		serveCommand("acp"),
	}
}

// rows are the commands without the functions that run them.
func rows() (rows []settings.Command) {
	for _, c := range commands() {
		rows = append(rows, c.Command)
	}
	return rows
}

// call is one run of a command.
type call struct {
	leaving *leaving
	values  *settings.Values // of the settings that the command reads
	commonFlags
	args           []string // what is no flag
	strays         []settings.Stray
	stdin          io.Reader
	stdout, stderr io.Writer // stderr is safe to write others' texts to
}
