package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"droid-acp/internal/cli/flags"
	"droid-acp/internal/text/visible"
	"droid-acp/internal/workspace/trust"
)

// trustCommand returns the command that shows what a project brings to run, and allows it.
func trustCommand() subcommand {
	return subcommand{
		Command: &cobra.Command{
			Use: "trust [flags] [DIR]", Args: cobra.MaximumNArgs(1), Short: "Show what a project brings to run, let it run, or take that back",
			Long: "droid runs the MCP servers, hooks and programs in a project's .factory directories without a question. droid-acp leaves them out until you have said yes. " +
				"A yes is for the git repository with its worktrees, and for what it brings now.\n\n" +
				"Exit codes: 0 the project is trusted, brings nothing, or was forgotten, 1 it is not trusted, or that could not be kept, 2 wrong usage.",
		},
		own: []flags.Setting{
			{Name: "yes", Kind: flags.Switch, Does: "let it run"},
			{Name: "forget", Kind: flags.Switch, Does: "take every yes for this project back"},
		},
		exclude: [][2]string{{"yes", "forget"}},
		run:     runTrust,
	}
}

func runTrust(c *invocation) int {
	dir, err := directory(cmp.Or(strings.Join(c.args, ""), ".")) // there is at most one
	if err != nil {
		return c.wrong(err)
	}
	known := trustStore(string(trust.Ask))
	say := func(code int, format string, args ...any) int {
		_, err := fmt.Fprintf(visible.NewWriter(c.stdout), format, args...)
		if notShown := c.printed(err); notShown != exitOK {
			return notShown
		}
		return code
	}
	if c.values.Bool("forget") {
		forgot, err := known.Forget(dir)
		switch {
		case err != nil:
			return c.failed(err)
		case !forgot:
			return say(exitOK, "Nothing was remembered for %s.\n", dir)
		}
		return say(exitOK, "Forgotten. droid-acp asks again.\n")
	}
	p := known.Check(dir)
	if len(p.Items) == 0 {
		return say(exitOK, "%s brings nothing that would run.\n", dir)
	}
	list := fmt.Sprintf("%s brings %s:\n%s", p.Root, p.Kinds(), p.List())
	switch {
	case p.Trusted:
		return say(exitOK, "%sIt is trusted. --forget takes that back.\n", list)
	case !c.values.Bool("yes") && p.TrustedByVersion():
		return say(exitOK, "%sIt is trusted, but for what only some droids do anything with. --yes lets that run, too.\n", list)
	case !c.values.Bool("yes"):
		return say(exitFailed, "%sIt is not trusted, so droid-acp leaves this out. --yes lets it run.\n", list)
	}
	if p.HasUnread() {
		return say(exitFailed, "%s%s\n", list, trust.NotReadable)
	}
	if err := known.Trust(p); err != nil {
		return c.failed(err)
	}
	return say(exitOK, "%sTrusted. --forget takes that back.\n", list)
}
