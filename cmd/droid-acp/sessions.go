package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"droid-acp/internal/cli/doctor"
	"droid-acp/internal/cli/flags"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/remote/keep"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/remote/serve"
	"droid-acp/internal/text/visible"
)

// noServer is the output of ps and stop if no server runs.
const noServer = "No server runs, so no session is kept.\n"

// psCommand returns the command that shows the sessions of the user's server.
func psCommand() subcommand {
	return subcommand{
		Command: &cobra.Command{
			Use: "ps [flags] [wss://HOST:PORT]", Args: cobra.MaximumNArgs(1), Short: "Show the sessions that a server keeps, what they do and who is there",
			Long: "A session is idle, running, or asks something. attach and stop take the beginning of its id.\n\n" +
				"Exit codes: 0 also where no server runs, 1 it does not answer, 2 wrong usage.",
		},
		own: append(farSettings(), flags.Setting{Name: "json", Kind: flags.Switch, Does: "print what the server says of itself as JSON; without one its process is 0"}, socketSetting()),
		run: runPs,
	}
}

// stopCommand returns the command that ends a server, or sessions of it.
func stopCommand() subcommand {
	return subcommand{
		Command: &cobra.Command{
			Use: "stop [flags] [wss://HOST:PORT] [SESSION]...", Args: cobra.ArbitraryArgs, Short: "End the server that keeps sessions and all that it runs, or only some sessions",
			Long: "It returns when nothing of them is left. What was said stays stored, and the sessions can be opened again. SESSION is an id or its beginning, as ps shows it.\n\n" +
				"With --when-idle it waits until nothing works: the server accepts no new sessions, and ends then. After --limit the server goes on, and the exit code is 1.\n\n" +
				"Exit codes: 0 they have ended, or no server runs, 1 there is no such session, or it does not end, 2 wrong usage.",
		},
		own: append(farSettings(), []flags.Setting{
			{Name: "force", Kind: flags.Switch, Does: "kill a server that does not end otherwise; with SESSION kill its agent, and with it the other sessions of that"},
			{Name: "when-idle", Kind: flags.Switch, Does: "end the server when nothing works in it"},
			{Name: "limit", Kind: flags.Duration, Value: "TIME", Default: "1h", Least: time.Second, Form: "a time such as 10m or 1h", Does: "how long --when-idle waits"},
			socketSetting(),
		}...),
		run: runStop,
	}
}

func runPs(c *invocation) int {
	at, err := c.target()
	if err == nil && len(c.args) > 0 {
		err = errors.New("ps shows all sessions; the only argument is the address of a server elsewhere, such as wss://HOST:PORT")
	}
	if err != nil {
		return c.wrong(err)
	}
	status, err := at.client().Status(c.leaving.ctx)
	switch {
	case err != nil && !errors.Is(err, keep.ErrNotRunning):
		return c.failed(err)
	case c.values.Bool("json"):
		if err != nil {
			status.Sessions = []serve.SessionInfo{} // none, of the process 0
		}
		text, _ := json.MarshalIndent(status, "", "  ") // strings and numbers can always be encoded
		return c.printed(c.print(visible.JSONLine(string(text)) + "\n"))
	case err != nil:
		return c.printed(c.print(noServer))
	}
	home, _ := os.UserHomeDir() // without one nothing is shown as "~"
	if at.far != nil {
		home = "" // it is that of this machine
	}
	err = keep.WriteTable(c.stdout, status, home, time.Now())
	if err == nil && at.far == nil {
		err = c.print(otherProgram(status, at.command()))
	}
	if aside := keep.AsidePath(at.socket); err == nil && at.far == nil && keep.IsAside(at.socket) {
		err = c.print("\nA server before this one ends when nothing works in it; " + commandFor(aside)("ps") + " shows it.\n")
	}
	return c.printed(err)
}

// otherProgram says that the server runs a program other than the one that would be started now.
func otherProgram(s serve.Status, command relay.Command) string {
	if which := programDifference(s); which != "" {
		return "\n" + which + " " + stopsServer(command) + "\n"
	}
	return ""
}

func stopsServer(command relay.Command) string {
	return command("stop") + " ends it and what it runs, and the next start takes the new one."
}

func programDifference(s serve.Status) string {
	switch {
	case s.Version != version():
		return "The server is droid-acp " + visible.Line(s.Version) + ", and this is " + version() + "."
	case s.Replaced:
		return "The program on the disk is another one than the server that runs."
	}
	return ""
}

// checkServer returns the doctor's check of the server of --keep.
func checkServer(ctx context.Context) doctor.KeepStatus {
	const without = "See to that, or do without --keep."
	path, err := defaultSocket()
	if err != nil {
		return doctor.KeepStatus{Found: sentence(err), ToDo: without}
	}
	status, err := clientFor(path).Status(ctx)
	switch {
	case errors.Is(err, keep.ErrNotRunning):
		return doctor.KeepStatus{Socket: path, Found: "No server runs; --keep starts one."}
	case err != nil:
		return doctor.KeepStatus{Socket: path, Found: sentence(err), ToDo: without}
	case programDifference(status) != "":
		return doctor.KeepStatus{Socket: path, Found: programDifference(status), ToDo: stopsServer(diagnosis.Command)}
	}
	return doctor.KeepStatus{Socket: path, Found: fmt.Sprintf("It runs (process %d), with %d sessions.", status.Process, len(status.Sessions))}
}

// sentence returns an error as a sentence.
func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// print writes text that is safe to show.
func (c *invocation) print(text string) error {
	_, err := io.WriteString(c.stdout, text)
	return err
}

func runStop(c *invocation) int {
	at, err := c.target()
	if err != nil {
		return c.wrong(err)
	}
	client := at.client()
	ctx, end, endSession := c.leaving.ctx, client.Stop, client.StopSession
	force, whenIdle := c.values.Bool("force"), c.values.Bool("when-idle")
	switch {
	case whenIdle && (force || len(c.args) > 0):
		return c.wrong(errors.New("--when-idle is for the server, and ends nothing that works: neither SESSION nor --force goes with it"))
	case whenIdle:
		end = func(ctx context.Context) error { return client.StopIdle(ctx, c.values.Duration("limit")) }
	case force:
		end, endSession = client.ForceStop, client.KillSession
	}
	if len(c.args) == 0 {
		err := end(ctx)
		switch {
		case errors.Is(err, keep.ErrNotRunning):
			return c.printed(c.print(noServer))
		case err != nil:
			return c.failed(err)
		}
		return exitOK
	}
	status, err := client.Status(ctx)
	if err != nil {
		return c.failed(err)
	}
	code := exitOK
	for _, id := range c.args {
		session, err := keep.Find(status, id, at.command())
		if err == nil {
			err = endSession(ctx, session.ID)
		}
		if err != nil {
			code = c.failed(err)
		}
	}
	return code
}
