package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// manName is the name of the command that prints the manual page, for which all flags are needed.
const manName = "man"

// manCommand returns the command that prints the manual page.
func manCommand() subcommand {
	return subcommand{Command: &cobra.Command{
		Use: manName, Args: cobra.NoArgs, Short: "Print the manual page droid-acp(1)", Example: "  droid-acp man | man -l -",
	}, run: func(c *invocation) int {
		_, err := io.WriteString(c.stdout, manual(c.cmd.Root(), built()))
		return c.printed(err)
	}}
}

// manual returns the manual page in the language of man(7): the unchanged help of each command. cobra's package for man pages would slow
// each start, including that of our hooks.
func manual(root *cobra.Command, of buildOrigin) string {
	roff := strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "~", `\(ti`, "^", `\(ha`, "…", "...")
	day, _, _ := strings.Cut(of.date, "T")
	var b strings.Builder
	fmt.Fprintf(&b, ".TH DROID-ACP 1 %q \"droid-acp %s\" \"User Commands\"\n", day, roff.Replace(of.version))
	b.WriteString(".SH NAME\ndroid-acp \\- Factory's droid in editors that speak ACP\n")
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		if cmd != root && !cmd.IsAvailableCommand() {
			continue
		}
		fmt.Fprintf(&b, ".SH %s\n.nf\n", roff.Replace(strings.ToUpper(cmd.CommandPath())))
		for line := range strings.Lines(strings.TrimSpace(helpText(cmd, 72))) {
			b.WriteString(`\&` + roff.Replace(line)) // a leading dot is not a macro
		}
		b.WriteString("\n.fi\n")
	}
	return b.String()
}

// versionName is the name of the command that prints the version, and of the flag.
const versionName = "version"

// versionCommand returns the command that prints what --version does.
func versionCommand() subcommand {
	return subcommand{Command: &cobra.Command{
		Use: versionName, Args: cobra.NoArgs, Short: "Print the version, as --version does",
	}, run: func(c *invocation) int {
		_, err := fmt.Fprintln(c.stdout, built())
		return c.printed(err)
	}}
}

// errWriter passes writes on, and keeps the first error.
type errWriter struct {
	to  io.Writer
	err error
}

// Write implements io.Writer.
func (n *errWriter) Write(p []byte) (int, error) {
	written, err := n.to.Write(p)
	if n.err == nil {
		n.err = err
	}
	return written, err
}

// printed returns the exit code of a command that prints. A reader that has gone early ("| head") is not a failure.
func (c *invocation) printed(err error) int {
	if err == nil || readerHasGone(err) {
		return exitOK
	}
	fmt.Fprintln(c.stderr, "droid-acp: "+err.Error())
	return exitFailed
}
