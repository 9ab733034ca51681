package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"droid-acp/internal/settings"
)

// completionCommand is the command that prints completions for a shell. They ask this
// program for the words each time, so that they need no change with a new version.
func completionCommand() subcommand {
	return subcommand{settings.Command{
		Name: "completion", Args: "bash|zsh|fish", MaxArgs: 1, Words: []string{"bash", "zsh", "fish"},
		Summary: "print completions of commands, flags and their values for a shell",
		Long:    "The completions for bash need the package bash-completion.",
		Exits:   printingExits(),
		Examples: []settings.Example{
			{Call: "droid-acp completion bash > ~/.local/share/bash-completion/completions/droid-acp", Does: "for bash; create the directory where it is missing"},
			{Call: `droid-acp completion zsh > "${fpath[1]}/_droid-acp"`, Does: "for zsh with compinit"},
			{Call: "droid-acp completion fish > ~/.config/fish/completions/droid-acp.fish", Does: "for fish"},
		},
	}, runCompletion}
}

func runCompletion(c *call) int {
	root := newCommandLine(call{stdout: c.stdout, stderr: c.stderr}).tree([]string{cobra.ShellCompRequestCmd})
	write := map[string]func(io.Writer) error{
		"bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":  root.GenZshCompletion,
		"fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
	}[c.args[0]]
	return c.printed(write(c.stdout))
}

// manCommand is the command that prints the manual page.
func manCommand() subcommand {
	return subcommand{settings.Command{
		Name: "man", Summary: "print the manual page droid-acp(1)",
		Exits:    printingExits(),
		Examples: []settings.Example{{Call: "droid-acp man | man -l -", Does: "read the manual page"}},
	}, runMan}
}

func runMan(c *call) int {
	from := built()
	day, _, _ := strings.Cut(from.date, "T")
	_, err := io.WriteString(c.stdout, settings.Man(rows(), from.version, day))
	return c.printed(err)
}

func printingExits() []settings.Exit {
	return []settings.Exit{{Code: exitOK, Means: "it is printed"}, {Code: exitFailed, Means: "it could not be written"}, {Code: exitUsage, Means: "wrong usage"}}
}

// noting passes on what is written, and keeps the first error.
type noting struct {
	to  io.Writer
	err error
}

// Write implements io.Writer.
func (n *noting) Write(p []byte) (int, error) {
	written, err := n.to.Write(p)
	if n.err == nil {
		n.err = err
	}
	return written, err
}

// printed is the exit code of a command that prints.
func (c *call) printed(err error) int {
	if err != nil {
		fmt.Fprintln(c.stderr, "droid-acp: "+err.Error())
		return exitFailed
	}
	return exitOK
}
