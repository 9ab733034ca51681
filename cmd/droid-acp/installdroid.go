package main

import (
	"bufio"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"droid-acp/internal/cli/flags"
	"droid-acp/internal/droid/install"
	"droid-acp/internal/text/visible"
)

// installDroidCommand is the command that installs droid.
func installDroidCommand() subcommand {
	return subcommand{
		Command: &cobra.Command{
			Use: "install-droid", Args: cobra.NoArgs, Short: "Install Factory's droid by npm, after asking",
			Long: "It runs `npm install -g droid`, which downloads droid from npm's registry. Nothing is downloaded unless you agree.\n\n" +
				"Exit codes: 0 droid is installed, 1 it is not, 2 wrong usage, or there is no terminal to ask at.",
		},
		reads: []string{flags.Droid},
		own:   []flags.Setting{{Name: "yes", Kind: flags.Switch, Does: "agree without being asked"}},
		run:   runInstallDroid,
	}
}

// errNoTerminal says that nobody can be asked.
var errNoTerminal = errors.New("install-droid asks before it downloads anything, and there is no terminal to ask at; --yes agrees")

func runInstallDroid(c *call) int {
	shown := visible.NewWriter(c.stdout)
	err := install.Installer{
		Find:   c.findDroid,
		Named:  c.values.String(flags.Droid),
		Agrees: c.agrees,
		Out:    shown, GOOS: runtime.GOOS,
	}.Run(c.leaving.ctx)
	_ = shown.Flush() // what could not be shown is no reason to fail
	switch {
	case errors.Is(err, errNoTerminal):
		return c.wrong(err)
	case err != nil:
		fmt.Fprintln(c.stderr, "droid-acp install-droid: "+strings.TrimSuffix(err.Error(), ".")+".")
		return exitFailed
	}
	return exitOK
}

// agrees asks a person for a yes. Everything else is a no.
func (c *call) agrees(question string) (bool, error) {
	if c.values.Bool("yes") {
		return true, nil
	}
	if !onTerminal(c.stdin) {
		return false, errNoTerminal
	}
	fmt.Fprint(c.stdout, visible.Line(question)+" Go on? [y/N] ")
	answer := make(chan string, 1)
	go func() { // ends with the line, or with the program
		line, _ := bufio.NewReader(c.stdin).ReadString('\n') // the end of the input is a no
		answer <- line
	}()
	select {
	case line := <-answer:
		word := strings.ToLower(strings.TrimSpace(line))
		return word == "y" || word == "yes", nil
	case <-c.leaving.ctx.Done():
		fmt.Fprintln(c.stdout)
		return false, nil
	}
}
