package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"droid-acp/internal/cli/flags"
	"droid-acp/internal/sys/subprocess"
)

// commandLine parses the arguments and runs a command. cobra finds the command, parses the flags, completes and prints help; the commands
// are in the table of commands.
type commandLine struct {
	base invocation
	args []string
	code int // exit code of the command
}

// execute runs the command that the arguments name and returns the exit code.
func execute(base invocation, args []string) int {
	l, out := &commandLine{base: base, args: args}, &errWriter{to: base.stdout}
	root := l.tree(out)
	root.SetArgs(append([]string{}, args...)) // never nil: cobra would use os.Args
	cmd, err := root.ExecuteC()
	switch {
	case out.err != nil:
		return base.printed(out.err)
	case err != nil:
		return usageError(base.stderr, err, cmd)
	}
	return l.code
}

// tree returns the commands for cobra: all below the one that serves, and login also below acp, since clients append it to the arguments of
// the agent. cobra's own output goes to out.
func (l *commandLine) tree(out io.Writer) *cobra.Command {
	root := l.branch(serveCommand("droid-acp"))
	root.SetOut(out)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(out, helpText(cmd, 80)) })
	root.InitDefaultHelpFlag() // so that the argument after it is not its value
	root.Args = nil            // for cobra's error, which suggests similar names
	acp := l.branch(serveCommand("acp"))
	acp.Hidden = true
	acp.AddCommand(l.branch(loginCommand()))
	root.AddCommand(acp)
	for _, c := range commands() {
		root.AddCommand(l.branch(c))
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() { // cobra answers invalid arguments with help and exit code 0, which would end up in a file for completions
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				_, _, err := root.Find(args)
				return err
			}
		case "completion":
			cmd.RunE = func(*cobra.Command, []string) error { return errors.New("completion needs the name of a shell") }
		}
	}
	return root
}

// branch completes the command with its run function and, if the arguments name it, with its flags: an editor's start need not wait for the
// flags of other commands (0.2 ms).
func (l *commandLine) branch(c subcommand) *cobra.Command {
	values := flags.New(append(flags.Common(), c.own...))
	if c.Name() == "droid-acp" || slices.Contains(l.args, c.Name()) || slices.Contains(l.args, manName) {
		c.addFlags(values)
	}
	c.Long = c.Short + ".\n\n" + c.Long
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return l.run(c, cmd, args, values)
	}
	return c.Command
}

// run runs a command whose flags have been parsed. An error is one of usage.
func (l *commandLine) run(c subcommand, cmd *cobra.Command, args []string, values flags.Values) error {
	switch {
	case c.serves && values.Bool(loginName):
		c = loginCommand()
	case c.serves && values.Bool(versionName):
		c = versionCommand()
	}
	if file, isFile := l.base.stdout.(*os.File); isFile {
		subprocess.OnReaderGone(file, func() {
			if !c.serves {
				l.base.mute() // a reader that is gone needs no more output
			}
			l.base.leaving.begin()
		})
	}
	if err := values.ReadEnvironment(c.reads, os.Getenv); err != nil {
		return err
	}
	call := l.base
	call.cmd, call.args, call.values, call.unknownVariables = cmd, args, values, flags.UnknownVariables(os.Environ())
	if c.strict && len(call.unknownVariables) > 0 {
		return errors.New(call.unknownVariables[0])
	}
	l.code = c.run(&call)
	return nil
}

// addFlags adds the flags of the command: those it reads, those it ignores, and its own.
func (c subcommand) addFlags(values flags.Values) {
	c.Flags().SortFlags = false
	for _, row := range flags.Common() {
		if isRead := slices.Contains(c.reads, row.Name); isRead || c.passesOver {
			row.Hidden = !isRead
			c.addFlag(values, row)
		}
	}
	for _, row := range c.own {
		c.addFlag(values, row)
	}
	for _, pair := range c.exclude {
		c.MarkFlagsMutuallyExclusive(pair[0], pair[1])
	}
}

// addFlag adds the flag of a setting, and how its values are completed.
func (c subcommand) addFlag(values flags.Values, row flags.Setting) {
	values.AddFlag(c.Flags(), row)
	directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	switch row.Kind {
	case flags.Dir:
		directive = cobra.ShellCompDirectiveFilterDirs
	case flags.File:
		directive = cobra.ShellCompDirectiveDefault
	}
	if err := c.RegisterFlagCompletionFunc(row.Name, cobra.FixedCompletions(row.Allowed, directive)); err != nil {
		panic(err) // a flag that was just added
	}
}

// helpText returns cobra's help of a command, in lines of at most so many columns.
func helpText(cmd *cobra.Command, columns int) string {
	var text strings.Builder
	cmd.SetOut(&text)
	new(cobra.Command).HelpFunc()(cmd, nil)
	return fold(text.String(), columns)
}

// fold breaks long lines between words. Continuation lines are indented to the last column of the line; two spaces precede a column.
func fold(text string, columns int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		indent := strings.LastIndex(line, "  ") + 2
		if indent == 1 {
			indent = 0
		}
		for len(line) > columns {
			end := strings.LastIndex(line[:columns+1], " ")
			if end <= indent {
				break // a single word that is too long
			}
			b.WriteString(line[:end] + "\n")
			line = strings.Repeat(" ", indent) + line[end+1:]
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
