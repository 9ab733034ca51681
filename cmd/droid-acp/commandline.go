package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"droid-acp/internal/settings"
)

// commandLine reads the arguments and runs a command. cobra finds the command, reads the
// flags and completes; what there is to find stands in the table of commands.
type commandLine struct {
	given  settings.Given
	isHelp bool // --help was given, before or behind the name of the command
	base   call
	code   int
}

// execute runs the command that the arguments name and returns the exit code.
func execute(base call, args []string) int {
	l := newCommandLine(base)
	root := l.tree(args)
	root.SetArgs(doubleDashes(args))
	cmd, err := root.ExecuteC()
	switch {
	case errors.Is(err, pflag.ErrHelp): // a flag --help before the command
		cmd.HelpFunc()(cmd, nil)
	case err != nil:
		return usageError(base.stderr, err, cmd.Name())
	}
	return l.code
}

func newCommandLine(base call) *commandLine {
	return &commandLine{given: make(settings.Given), base: base}
}

// tree are the commands as cobra wants them: all below the one that serves, and login
// also below acp, as clients put it behind the arguments of the agent. Those that the
// arguments do not name are left out, so that an editor's start does not wait for them.
func (l *commandLine) tree(args []string) *cobra.Command {
	all := commands()
	root := l.branch(all[0])
	root.Use, root.TraverseChildren = "droid-acp", true
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetOut(l.base.stdout)
	root.SetErr(l.base.stderr)
	whole := wantsAll(args)
	if whole {
		root.SetHelpCommand(l.help())
	}
	for _, c := range all[1:] {
		if !whole && !slices.Contains(args, c.Name) {
			continue
		}
		child := l.branch(c)
		if c.Name == "acp" {
			child.AddCommand(l.branch(loginCommand()))
		}
		root.AddCommand(child)
	}
	return root
}

// wantsAll reports whether the arguments may ask for what there is: they have help in them,
// or half a line to complete.
func wantsAll(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		return arg == "help" || strings.HasPrefix(arg, cobra.ShellCompRequestCmd)
	})
}

// branch is one command.
func (l *commandLine) branch(c subcommand) *cobra.Command {
	cmd := &cobra.Command{
		Use: c.Name, Short: c.Summary, Hidden: c.Hidden, ValidArgs: c.Words,
		Args: func(_ *cobra.Command, args []string) error {
			if l.versionWanted() {
				return nil
			}
			if c.Name == "" && len(args) > 0 {
				return unknownCommand(args[0])
			}
			return c.CheckArgs(args)
		},
		RunE: func(_ *cobra.Command, args []string) (err error) {
			l.code, err = l.run(c, args)
			return err
		},
	}
	cmd.SetHelpFunc(func(*cobra.Command, []string) {
		_, err := fmt.Fprint(l.base.stdout, settings.Help(c.Command, rows()))
		l.code = l.base.printed(err)
	})
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if words := cmd.Flags().Args(); c.Name == "" && len(words) > 0 {
			return unknownCommand(words[0]) // whose flag that perhaps is
		}
		return flagError(c.Command, err)
	})
	if c.Words == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions // a prompt, or nothing
	}
	for _, row := range append(c.Flags(), versionRow()) {
		flag := cmd.Flags().VarPF(&flagValue{l.given, row}, row.Name, "", row.Does)
		if row.Kind == settings.Switch {
			flag.NoOptDefVal = "true"
		}
		flag.Hidden = row.Hidden
		complete(cmd, row)
	}
	cmd.Flags().BoolVarP(&l.isHelp, "help", "h", false, "print what there is to say")
	return cmd
}

// complete says how the values of a flag are completed.
func complete(cmd *cobra.Command, row settings.Setting) {
	var err error
	switch row.Kind {
	case settings.Choice:
		err = cmd.RegisterFlagCompletionFunc(row.Name, cobra.FixedCompletions(row.Allowed, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder))
	case settings.Dir:
		err = cmd.MarkFlagDirname(row.Name)
	case settings.Text, settings.Texts, settings.Duration:
		err = cmd.RegisterFlagCompletionFunc(row.Name, cobra.NoFileCompletions)
	}
	if err != nil {
		panic(err) // a flag that the line before has added
	}
}

// run runs a command when its flags have been read.
func (l *commandLine) run(c subcommand, args []string) (exitCode int, err error) {
	if l.versionWanted() {
		_, err := fmt.Fprintln(l.base.stdout, built())
		return l.base.printed(err), nil
	}
	if l.isOn(loginWord) {
		c = loginCommand()
	}
	call := l.base
	call.args = args
	if call.values, err = c.Resolve(l.given, os.Getenv); err != nil {
		return exitUsage, err
	}
	call.strays = settings.Strays(os.Environ(), rows())
	if c.Strict && len(call.strays) > 0 {
		return exitUsage, errors.New(call.strays[0].String())
	}
	call.commonFlags = readCommon(call.values)
	return c.run(&call), nil
}

func versionRow() settings.Setting {
	return settings.Setting{Name: "version", Kind: settings.Switch, Does: "print the version"}
}

func (l *commandLine) versionWanted() bool { return l.isOn("version") }

// isOn reports whether a switch was given and is on.
func (l *commandLine) isOn(name string) bool {
	texts := l.given[name]
	if len(texts) == 0 {
		return false
	}
	on, _ := strconv.ParseBool(texts[len(texts)-1]) // checked as it was given
	return on
}

// help is the command that prints the help of another.
func (l *commandLine) help() *cobra.Command {
	var names []string
	for _, c := range rows() {
		if c.Name != "" && !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return &cobra.Command{
		Use: "help", Short: "print the help of a command", ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(strings.Join(args, " "))
			}
			found.HelpFunc()(found, nil)
			return nil
		},
	}
}

// flagValue notes what is given of a flag. What the texts mean is seen when all are read,
// but for switches, which may decide what is read.
type flagValue struct {
	given settings.Given
	row   settings.Setting
}

func (f *flagValue) Set(text string) error {
	if f.row.Kind == settings.Switch {
		if err := f.row.Check(text, "--"+f.row.Name); err != nil {
			return err
		}
	}
	f.given[f.row.Name] = append(f.given[f.row.Name], text)
	return nil
}

func (f *flagValue) String() string { return "" }

func (f *flagValue) Type() string { return strings.ToLower(f.row.Value) }

// doubleDashes gives long flags with one dash, as Go's own flag package takes them, the
// second. What is the value of a flag, or stands behind "--", is left alone.
func doubleDashes(args []string) []string {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return args // half a line, which is to be completed
	}
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") }) {
		return append(make([]string, 0, len(args)), args...) // never nil: cobra would take os.Args
	}
	takesValue := map[string]bool{"help": false}
	for _, row := range append(settings.AllSettings(rows()), versionRow()) {
		takesValue[row.Name] = row.Kind != settings.Switch
	}
	args = slices.Clone(args)
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, isFlag := strings.CutPrefix(args[i], "-")
		name = strings.TrimPrefix(name, "-")
		name, _, hasValue := strings.Cut(name, "=")
		value, known := takesValue[name]
		if !isFlag || !known {
			continue
		}
		if !strings.HasPrefix(args[i], "--") {
			args[i] = "-" + args[i]
		}
		if value && !hasValue {
			i++
		}
	}
	return args
}

// flagError says in our words what is wrong with a flag.
func flagError(c settings.Command, err error) error {
	var unknown *pflag.NotExistError
	var lacks *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		typed := unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			typed = short
		}
		typed, _, _ = strings.Cut(typed, "=")
		return unknownFlag(c, typed)
	case errors.As(err, &lacks):
		return fmt.Errorf("--%s needs a value", lacks.GetSpecifiedName())
	case errors.As(err, &invalid):
		return invalid.Unwrap()
	}
	return err
}

func unknownFlag(c settings.Command, typed string) error {
	var names, owners []string
	for _, row := range append(c.Flags(), versionRow()) {
		names = append(names, row.Name)
	}
	for _, other := range rows() {
		if !other.Hidden && slices.ContainsFunc(other.Flags(), func(row settings.Setting) bool { return row.Name == typed && !row.Hidden }) {
			owners = append(owners, other.Word())
		}
	}
	switch nearest := settings.Nearest(typed, names); {
	case len(owners) > 0 && c.Name == "":
		return fmt.Errorf("--%s is a flag of %s, and stands behind that word", typed, settings.Or(owners))
	case len(owners) > 0:
		return fmt.Errorf("--%s is a flag of %s, not of %s", typed, settings.Or(owners), c.Name)
	case nearest != "":
		return fmt.Errorf("unknown flag --%s; is --%s meant?", typed, nearest)
	}
	dashes, hint := "--", ""
	if len(typed) == 1 {
		dashes = "-"
	}
	if c.MaxArgs < 0 {
		hint = "; text that begins with a dash goes behind --"
	}
	return fmt.Errorf("unknown flag %s%s%s", dashes, typed, hint)
}

func unknownCommand(typed string) error {
	var names []string
	for _, c := range rows() {
		names = append(names, c.Name)
	}
	if nearest := settings.Nearest(typed, names); nearest != "" {
		return fmt.Errorf("unknown command %q; is %q meant?", typed, nearest)
	}
	return fmt.Errorf("unknown command %q", typed)
}
