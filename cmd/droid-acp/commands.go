package main

import (
	"io"

	"github.com/spf13/cobra"

	"droid-acp/internal/cli/flags"
)

// To add a command NAME: in a separate file, a function nameCommand that returns a subcommand, whose row has its flags and the settings that
// it reads, and whose run reads them from invocation.values and returns the exit code; and a line in commands. --help, the errors, the man
// page and the completions follow from the row.
//
// To add a flag to one command, add a flags.Setting to its own. A flag of several commands is a row of flags.Common, whose name is in the
// reads of each of them.

// subcommand is a row of the table of commands, with the function that runs it.
type subcommand struct {
	*cobra.Command                 // its name, its help, and which arguments it accepts
	reads          []string        // the rows of flags.Common that it reads
	own            []flags.Setting // rows that only this command has
	exclude        [][2]string     // flags that exclude each other
	run            func(*invocation) (exitCode int)

	// passesOver says that flags of flags.Common that it does not read are ignored instead of being an error. Clients append the arguments
	// of a login to those of the agent.
	passesOver bool
	// serves says that stdout belongs to an editor, and stderr to its log.
	serves bool
	// strict says that an unknown variable DROID_ACP_… is an error, not a warning.
	strict bool
}

// commands returns all commands but the one that serves.
func commands() []subcommand {
	return []subcommand{
		loginCommand(),
		smokeCommand(),
		doctorCommand(),
		trustCommand(),
		viaCommand(),
		connectCommand(),
		serverCommand(),
		psCommand(),
		attachCommand(),
		traceCommand(),
		stopCommand(),
		reportCommand(),
		manCommand(),
		versionCommand(),
	}
}

// invocation is one run of a command.
type invocation struct {
	leaving          *termination
	cmd              *cobra.Command
	values           flags.Values // rows of flags.Common, with defaults for those that the command does not read, and its own
	args             []string     // arguments that are not flags
	unknownVariables []string     // messages about variables that are not read
	stdin            io.Reader
	stdout, stderr   io.Writer    // stderr makes the texts of others safe
	mute             func()       // discards further output to stderr
	recentLog        *recentLines // of the log, once it is made
}
