package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"droid-acp/internal/cli/flags"
	"droid-acp/internal/cli/smoke"
	"droid-acp/internal/text/visible"
)

// reportCommand returns the command that writes a report of a running session.
func reportCommand() subcommand {
	return subcommand{
		Command: &cobra.Command{
			Use: "report [flags] [SESSION]", Args: cobra.MaximumNArgs(1), Short: "Write what a bug report needs of a session that a server keeps to a file",
			Long: "It is the file that /report writes in the chat: versions, settings, what waits, the end of the log and the last messages, without prompts and texts of files. " +
				"SESSION is an id or its beginning, as ps shows it; without it the one whose state changed last.\n\n" +
				"Exit codes: 0 its path is printed, 1 there is no such session, or no report was written, 2 wrong usage.",
		},
		own: []flags.Setting{{Name: "with-texts", Kind: flags.Switch, Does: "add the conversation; the session must be idle"}, socketSetting()},
		run: runReport,
	}
}

func runReport(c *invocation) int {
	path, err := c.socket()
	if err != nil {
		return c.wrong(err)
	}
	session, err := c.runningSession(target{socket: path})
	if err != nil {
		return c.failed(err)
	}
	hello, err := attachParams(nil)
	if err != nil {
		return c.failed(err)
	}
	hello.Joins = true
	var file string
	if err := c.clientOf(target{socket: path}, hello, nil, func(in io.Reader, out io.Writer) (err error) {
		file, err = smoke.Report(c.leaving.ctx, in, out, session.ID, session.Directory, c.values.Bool("with-texts"), nil)
		return err
	}); err != nil {
		return c.failed(fmt.Errorf("no report was written of session %s: %w", session.ID, err))
	}
	return c.printed(c.print(visible.Line(file) + "\n"))
}
